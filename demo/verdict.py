"""The end: every view, every topic and every reader beside what must be there."""

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from demo.branches import OPENING, WATCHED, Ledger
from demo.oracle import Comparison, Oracle
from demo.outputs import TABLES, VIEWS, dead_letters, table_rows, view_rows
from demo.readers import MEMBERS, Readers
from headwater.client import Client, Views


def comparisons(client: Client, views: Views, ledger: Ledger) -> Iterator[tuple[str, Comparison]]:
    """What came out of the pipeline, beside SQL over what was sent."""
    oracle = Oracle(ledger.sent, OPENING)
    for name in VIEWS:
        yield f"view shop.{name}", oracle.compare(name, list(view_rows(client, views, name)))
    for name in TABLES:
        yield f"topic shop.{name}", oracle.compare(name, list(table_rows(client, name)))
    yield "dead letters", oracle.compare("dead letters", list(dead_letters(client)))


def readings(ledger: Ledger, readers: Readers) -> Iterator[tuple[str, Comparison]]:
    """What was acknowledged, and what each group read: a record that is not there, or there twice."""
    lost = len(ledger.sent) - ledger.acknowledged
    yield (
        "acknowledged of produced",
        Comparison("acknowledged", ledger.acknowledged, len(ledger.sent), lost, 0),
    )
    for group in MEMBERS:
        seen = readers.seen(group)
        shares = " + ".join(f"{each:,}" for each in readers.shares(group))
        once = len(ledger.receipts & seen.keys())
        yield (
            f"{WATCHED} read by {group} ({shares})",
            Comparison(
                group,
                rows=sum(seen.values()),
                expected=len(ledger.receipts),
                missing=len(ledger.receipts - seen.keys()),
                surplus=sum(seen.values()) - once,
            ),
        )
        idle = readers.shares(group).count(0)
        if idle:
            yield f"members of {group} without work", Comparison(group, idle, 0, 0, idle)


def show(console: Console, found: list[tuple[str, Comparison]]) -> bool:
    """Print the table; True if everything is equal."""
    table = Table(
        title="What is there, and what SQL over the same events says", title_justify="left"
    )
    table.add_column("", no_wrap=True)
    for column in ("rows", "expected", "lost", "surplus", "equal"):
        table.add_column(column, justify="right")
    for name, each in found:
        table.add_row(
            name,
            *(f"{number:,}" for number in (each.rows, each.expected, each.missing, each.surplus)),
            "[green]equal" if each.is_equal else "[red]DIFFERS",
        )
    console.print(table)
    for name, each in found:
        for example in each.examples:
            console.print(f"{name}: {example}", markup=False, highlight=False)
    return all(each.is_equal for _, each in found)
