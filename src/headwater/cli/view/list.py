"""`headwater view list`."""

from dataclasses import asdict

from headwater.cli.command import command as headwater_command
from headwater.cli.session import Session
from headwater.cli.view.url_option import url_option


@headwater_command(
    "list",
    examples=(
        "headwater view list",
        "headwater view list --url http://127.0.0.1:9090",
        "headwater view list --json | jq 'select(.lag_seconds > 60)'",
    ),
)
@url_option
def command(session: Session, url: str | None) -> None:
    """List views with their lag.

    Lag is counted in records and in seconds: how long ago the view equalled the end of its topic.
    """
    with session.views(url) as views:
        found = views.list()
    session.output.rows(
        ("name", "state", "lag_records", "lag_seconds", "rejected", "comment"),
        (asdict(each) for each in found),
    )
