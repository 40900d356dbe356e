"""`headwater pipeline pause`."""

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.pipeline.names import matching
from headwater.cli.session import Session


@headwater_command(
    "pause",
    examples=(
        "headwater pipeline pause shop",
        "headwater pipeline pause shop.revenue",
        "headwater pipeline pause shop --profile prod",
    ),
)
@click.argument("name")
def command(session: Session, name: str) -> None:
    """Stop queries until they are resumed; what they have done stays."""
    with session.connect() as client:
        found = [each.name for each in matching(client, name)]
        from headwater.streams.run.board import Board  # noqa: PLC0415

        Board(client).wish(found, paused=True)
    session.output.rows(("query", "paused"), [{"query": each, "paused": True} for each in found])
