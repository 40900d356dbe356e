"""`headwater view resume`."""

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.session import Session
from headwater.cli.view.url_option import url_option


@headwater_command(
    "resume",
    examples=(
        "headwater view resume shop.revenue",
        "headwater view resume shop.revenue --profile prod",
        "headwater view resume shop.revenue --json",
    ),
)
@click.argument("view")
@url_option
def command(session: Session, view: str, url: str | None) -> None:
    """Go on after a pause."""
    with session.views(url) as views:
        views.view(view).resume()
    session.output.done(f"view {view} goes on", {"view": view, "action": "resume"})
