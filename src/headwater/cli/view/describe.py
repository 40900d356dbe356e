"""`headwater view describe`."""

from dataclasses import asdict
from typing import Final

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.session import Session
from headwater.cli.view.url_option import url_option
from headwater.client.view import ViewDetails

_FACTS: Final = ("state", "reason", "rows", "lag_records", "lag_seconds", "rejected")


@headwater_command(
    "describe",
    examples=(
        "headwater view describe shop.revenue",
        "headwater view describe shop.revenue --json",
        "headwater view describe shop.revenue --profile prod",
    ),
)
@click.argument("view")
@url_option
def command(session: Session, view: str, url: str | None) -> None:
    """Show the columns of a view and how it is doing."""
    with session.views(url) as views:
        found = views.view(view).describe()
    if session.output.is_json:
        session.output.document(_document(found))
        return
    session.output.rows(
        ("column", "type", "nullable", "key"),
        (
            {
                "column": each.name,
                "type": each.type.name,
                "nullable": each.is_nullable,
                "key": each.name in found.view.key,
            }
            for each in found.view.columns
        ),
    )
    session.output.line("")
    facts = {**asdict(found.status), "rows": found.rows, "reason": found.status.reason or None}
    session.output.rows(("what", "is"), [{"what": name, "is": facts[name]} for name in _FACTS])


def _document(found: ViewDetails) -> dict[str, object]:
    view = found.view
    return {
        **asdict(found.status),
        "topic": view.topic,
        "key": list(view.key),
        "columns": [
            {"name": each.name, "type": each.type.name, "nullable": each.is_nullable}
            for each in view.columns
        ],
        "pipeline": view.pipeline,
        "version": view.version,
        "indexes": [list(each) for each in view.indexes],
        "rows": found.rows,
    }
