"""`headwater view rebuild`."""

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.session import Session
from headwater.cli.view.url_option import url_option


@headwater_command(
    "rebuild",
    examples=(
        "headwater view rebuild shop.revenue",
        "headwater view rebuild shop.revenue --profile prod",
        "headwater view rebuild shop.revenue --json",
    ),
)
@click.argument("view")
@url_option
def command(session: Session, view: str, url: str | None) -> None:
    """Build a view again from its topic.

    It is built beside what is served, and takes its place once it has reached the end of the topic.
    """
    with session.views(url) as views:
        views.view(view).rebuild()
    session.output.done(f"view {view} will be built again", {"view": view, "action": "rebuild"})
