"""`headwater group describe`."""

from dataclasses import asdict

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.session import Session
from headwater.cli.suggestions import require_group


@headwater_command(
    "describe",
    examples=(
        "headwater group describe billing",
        "headwater group describe billing --json",
        "headwater group describe billing --profile prod",
    ),
)
@click.argument("group")
def command(session: Session, group: str) -> None:
    """Show the members of a group and its lag per partition.

    Lag is counted in records and in seconds: the age of the oldest record not yet read.
    """
    with session.connect() as client:
        require_group(client, group)
        found = client.admin.groups.describe(group)
    if session.output.is_json:
        session.output.document(
            {**asdict(found), "lag": found.lag, "lag_seconds": found.lag_seconds}
        )
        return
    session.output.rows(
        ("topic", "partition", "committed", "end", "lag", "lag_seconds", "member"),
        (asdict(place) for place in found.partitions),
        title=f"{group}: {found.state}, {len(found.members)} members",
    )
