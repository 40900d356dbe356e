"""`headwater pipeline resume`."""

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.pipeline.names import matching
from headwater.cli.session import Session


@headwater_command(
    "resume",
    examples=(
        "headwater pipeline resume shop",
        "headwater pipeline resume shop.revenue",
        "headwater pipeline resume shop --profile prod",
    ),
)
@click.argument("name")
def command(session: Session, name: str) -> None:
    """Let paused queries go on where they stopped."""
    with session.connect() as client:
        found = [each.name for each in matching(client, name)]
        from headwater.streams.run.board import Board  # noqa: PLC0415

        Board(client).wish(found, paused=False)
    session.output.rows(("query", "paused"), [{"query": each, "paused": False} for each in found])
