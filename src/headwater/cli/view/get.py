"""`headwater view get`."""

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.session import Session
from headwater.cli.view.json_row import json_row, shown
from headwater.cli.view.url_option import url_option
from headwater.cli.view.waiting import waiting_options
from headwater.client.record import Receipt
from headwater.errors import InvalidRequest, NotFound


@headwater_command(
    "get",
    examples=(
        "headwater view get shop.revenue 2026-09-01T10:00Z 7",
        "headwater view get shop.customers 7 --json | jq .row.name",
        "headwater view get shop.customers 7 --wait-for shop.customers/0/41",
    ),
)
@click.argument("view")
@click.argument("key", nargs=-1, required=True)
@waiting_options
@url_option
def command(
    session: Session,
    view: str,
    key: tuple[str, ...],
    wait_for: Receipt | None,
    timeout_s: float,
    url: str | None,
) -> None:
    """Show one row by its key.

    KEY is one value for each column of the key, in its order; see: headwater view describe. Values
    that begin with a minus come after two of them: headwater view get shop.balances -- -7
    """
    with session.views(url) as views:
        asked = views.view(view)
        columns = asked.definition.key
        if len(key) != len(columns):
            raise InvalidRequest(
                f"the key of view {view!r} has {len(columns)} columns, and {len(key)} values were given",
                hint=f"give values for {', '.join(columns)}",
            )
        values = dict(zip(columns, key, strict=True))
        row = asked.get(values, wait_for=wait_for, timeout_s=timeout_s)
    if row is None:
        raise NotFound(f"view {view!r} has no row with the key {', '.join(key)}")
    document = json_row(asked.definition, row)
    if session.output.is_json:
        session.output.document({"row": document, "as_of": row.as_of})
        return
    session.output.rows(
        ("column", "value"),
        ({"column": name, "value": shown(value)} for name, value in document.items()),
    )
