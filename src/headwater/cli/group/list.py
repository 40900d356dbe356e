"""`headwater group list`."""

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.session import Session


@headwater_command(
    "list",
    examples=(
        "headwater group list",
        "headwater group list --state empty",
        "headwater group list --json | jq 'select(.lag > 0)'",
    ),
)
@click.option("--state", help="Only groups in this state: stable, empty, dead, ...")
def command(session: Session, state: str | None) -> None:
    """List consumer groups with their lag."""
    with session.connect() as client:
        groups = client.admin.groups.describe_all(state)
    session.output.rows(
        ("group", "state", "members", "lag", "lag_seconds"),
        (
            {
                "group": group.group,
                "state": group.state,
                "members": len(group.members),
                "lag": group.lag,
                "lag_seconds": group.lag_seconds,
            }
            for group in groups
        ),
    )
