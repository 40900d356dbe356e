"""`headwater view watch`."""

import sys
from itertools import islice

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.output import Output, tab_free
from headwater.cli.session import Session
from headwater.cli.view.json_row import json_row, shown
from headwater.cli.view.url_option import url_option
from headwater.client.view_subscription import Change
from headwater.views import View


@headwater_command(
    "watch",
    examples=(
        "headwater view watch shop.revenue",
        "headwater view watch shop.revenue --where 'customer == 7 and total > 100' --json",
        "headwater view watch shop.revenue --no-snapshot -n 10",
    ),
)
@click.argument("view")
@click.option("--where", "expression", metavar="EXPR", help="Only rows that match.")
@click.option(
    "--snapshot/--no-snapshot", default=True, help="Begin with the rows there are, or not."
)
@click.option("--after", metavar="ID", help="Go on after the event with this id.")
@click.option("-n", "--count", type=click.IntRange(min=1), help="Stop after this many events.")
@url_option
def command(  # noqa: PLR0913  one argument per option
    session: Session,
    *,
    view: str,
    expression: str | None,
    snapshot: bool,
    after: str | None,
    count: int | None,
    url: str | None,
) -> None:
    """Show rows, then every change of them.

    It goes on over restarts of the server, with no change lost or repeated; Ctrl-C stops.
    """
    with session.views(url) as views:
        subscribe = views.view(view).subscribe
        with subscribe(expression or "", snapshot=snapshot, last_id=after) as changes:
            shown_as = changes.definition
            _print_header(session.output, shown_as)
            for change in islice(changes, count):
                if change.row is not None and changes.definition.columns != shown_as.columns:
                    shown_as = changes.definition
                    _print_header(session.output, shown_as)
                _print(session.output, changes.definition, change)


def _print_header(output: Output, view: View) -> None:
    if not output.is_json:
        output.line("\t".join(("kind", *(each.name for each in view.columns))))
        sys.stdout.flush()


def _print(output: Output, view: View, change: Change) -> None:
    row = change.row if change.row is not None else change.key
    values = None if row is None else json_row(view, row)
    if output.is_json:
        output.document(
            {
                "kind": change.kind,
                "key": None if change.key is None else json_row(view, change.key),
                "row": values if change.row is not None else None,
                "as_of": change.as_of,
                "id": change.id,
                "reason": change.reason,
            }
        )
    elif values is None:
        output.note(f"{change.kind}: {change.reason}")
    else:
        output.line(
            "\t".join((change.kind, *(_cell(values.get(each.name)) for each in view.columns)))
        )
    sys.stdout.flush()


def _cell(value: object) -> str:
    return tab_free(shown(value))
