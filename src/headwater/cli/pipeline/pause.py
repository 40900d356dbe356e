"""`headwater pipeline pause`."""

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.pipeline.wishes import wish
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
    wish(session, name, paused=True)
