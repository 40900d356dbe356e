"""`headwater pipeline resume`."""

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.pipeline.wishes import wish
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
    wish(session, name, paused=False)
