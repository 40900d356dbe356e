"""`headwater view pause`."""

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.session import Session
from headwater.cli.view.url_option import url_option


@headwater_command(
    "pause",
    examples=(
        "headwater view pause shop.revenue",
        "headwater view pause shop.revenue --profile prod",
        "headwater view pause shop.revenue --json",
    ),
)
@click.argument("view")
@url_option
def command(session: Session, view: str, url: str | None) -> None:
    """Stop applying changes to a view.

    What is served stays as it is, and its lag grows. A restart of the server ends the pause.
    """
    with session.views(url) as views:
        views.view(view).pause()
    session.output.done(f"view {view} is paused", {"view": view, "action": "pause"})
