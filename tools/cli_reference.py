"""Write docs/cli.md, the reference of the command line, from the commands themselves.

python tools/cli_reference.py            write the page
python tools/cli_reference.py --check    fail when the page is out of date
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from headwater.cli.lazy import LazyGroup
from headwater.cli.main import root

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
WIDTH = 100

PREAMBLE = """# The command line

<!-- Written by tools/cli_reference.py: change the commands, then run it again. -->

`headwater`, or `hw` for short: a noun, then a verb. Every command works on the broker of this
folder (found through `.headwater/`), or on any Kafka: the one of `$HEADWATER_BOOTSTRAP`, which
counts for more than the folder, of `--bootstrap host:port`, which counts for more than both, or of
`--profile NAME` for one that `headwater.toml` names:

```toml
[profiles.prod]
kafka = "broker1:9092,broker2:9092"
options = { "security.protocol" = "SSL" }
```

**Output.** A table on a terminal, tab-separated lines with a header in a pipe, JSON documents
with `--json` ([the contract](cli-json.md)). Results go to stdout; messages, progress and
questions go to stderr. An error is one sentence and a `hint:` on stderr.

**Exit codes.** 0 ok, 1 failed, 2 usage, 3 not found, 4 unreachable, 5 refused (conflict), 130
stopped by Ctrl-C, 143 by SIGTERM. A reader that has had enough (`| head -1`) is not an error.

**Destructive commands** (`topic delete`, `topic trim`, `group seek`, `group delete`) print their
plan and ask. Without a terminal they refuse with exit code 2 unless `--yes` is given. `trim` and
`seek` have `--dry-run`.

**Positions** are the same everywhere (`tail -o`, `trim --before`, `seek --to`, `export --range`):

| write | for |
| --- | --- |
| `start`, `end` | the first record that is there, the next one that will come |
| `47` | an exact offset |
| `+2`, `-3` | two after the start, three before the end |
| `10:20`, `:end`, `-100:end` | from (inclusive) until (exclusive) |
| `@-15m`, `@-1h30m`, `@-2d` | that long ago: `ms s m h d w` |
| `@09:00`, `@2026-09-01`, `@2026-09-01T10:00Z` | at a time; without a zone it is local time |
| `@1644796800000`, `@1644796800` | milliseconds or seconds since 1970 |
| `@-1h:@-30m`, `@2026-09-01:1h` | between two times, or a time and how long |
| `@-1h:end`, `@:-1h`, `@:2026-09-01` | from a time until now, from the start until a time |

**Filters** (`tail --where`) are a safe part of Python's expressions, evaluated here and not by
the broker: `value.total > 100 and key == "7"`. Names are `key value headers topic partition
offset timestamp_ms`; a dot or `[...]` looks into JSON; there are `and or not in is`, comparisons,
arithmetic, `len int float str abs` and, on text, `startswith endswith lower upper strip`. What is
missing, or of another type, does not match.

**Completion.** Put into your shell's start file:

```sh
eval "$(_HEADWATER_COMPLETE=bash_source headwater)"     # bash
eval "$(_HEADWATER_COMPLETE=zsh_source headwater)"      # zsh
_HEADWATER_COMPLETE=fish_source headwater | source      # fish
```
"""


def main() -> None:
    page = "\n".join([PREAMBLE, *_sections(root, "headwater", None)])
    if "--check" not in sys.argv:
        PAGE.write_text(page)
    elif not PAGE.exists() or PAGE.read_text() != page:
        sys.exit("docs/cli.md is out of date: run python tools/cli_reference.py")


def _sections(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    ctx = click.Context(
        command, info_name=name, parent=parent, terminal_width=WIDTH, max_content_width=WIDTH
    )
    yield f"## {ctx.command_path}\n\n```text\n{command.get_help(ctx).rstrip()}\n```\n"
    if isinstance(command, LazyGroup):
        for child in command.list_commands(ctx):
            found = command.get_command(ctx, child)
            assert found is not None
            yield from _sections(found, child, ctx)


if __name__ == "__main__":
    main()
