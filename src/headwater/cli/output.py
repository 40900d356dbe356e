"""Printing: a table on a terminal, tab-separated with a header in a pipe, JSON with `--json`.

Results go to stdout and nothing else does; messages and progress go to stderr.
"""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from headwater.cli.streams import is_terminal
from headwater.client.record_json import as_json

Row = Mapping[str, Any]

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Output:
    is_json: bool = False
    is_quiet: bool = False

    @property
    def is_terminal(self) -> bool:
        return sys.stdout.isatty()

    @property
    def is_interactive(self) -> bool:
        """Whether there is a person to ask."""
        return is_terminal(sys.stdin) and is_terminal(sys.stderr)

    def rows(self, columns: Sequence[str], rows: Iterable[Row], *, title: str = "") -> None:
        """Things of one kind: a table, or one line each. JSON prints each row whole."""
        if self.is_json:
            for row in rows:
                self.document(row)
        elif self.is_terminal:
            _print_table(columns, rows, title)
        else:
            self.line("\t".join(columns))
            for row in rows:
                self.line("\t".join(tab_free(row.get(column)) for column in columns))

    def document(self, content: Row) -> None:
        self.line(as_json(content))

    def line(self, text: str) -> None:
        sys.stdout.write(f"{text}\n")

    def done(self, message: str, content: Row) -> None:
        """The end of a change: a sentence for a person, the document for a script."""
        if self.is_json:
            self.document(content)
        elif not self.is_quiet:
            self.line(message)

    def note(self, message: str) -> None:
        """Beside the results: on stderr, unless `--quiet`."""
        if not self.is_quiet:
            sys.stdout.flush()
            sys.stderr.write(f"{message}\n")


def tab_free(value: Any) -> str:
    """One field of a tab-separated line; `-` is no value."""
    return _harmless(_text(value).replace("\\", "\\\\"))


def _harmless(text: str, kept: str = "") -> str:
    """What could move the cursor or colour the screen is shown as it is written in Python."""

    def escaped(found: re.Match[str]) -> str:
        return found[0] if found[0] in kept else found[0].encode("unicode_escape").decode()

    return _CONTROL.sub(escaped, text)


def _text(value: Any) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.1f}"
        case list() | tuple():
            return ",".join(str(part) for part in value)
        case _:
            return str(value)


def _print_table(columns: Sequence[str], rows: Iterable[Row], title: str) -> None:
    from rich import box  # noqa: PLC0415  only a terminal pays for it
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    kept = list(rows)
    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        is_number = all(isinstance(row.get(column), int | float | None) for row in kept)
        justify: Literal["left", "right"] = "right" if is_number and kept else "left"
        # Long names go on in the next line: two that differ at their end must not look the same.
        table.add_column(column, justify=justify, overflow="fold")
    for row in kept:
        table.add_row(*(Text(_harmless(_text(row.get(column)), "\n")) for column in columns))
    Console(file=sys.stdout, soft_wrap=False).print(table)
    if not kept:
        sys.stdout.write("(none)\n")
