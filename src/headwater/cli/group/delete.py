"""`headwater group delete`."""

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.session import Session
from headwater.cli.suggestions import require_group


@headwater_command(
    "delete",
    examples=(
        "headwater group delete billing",
        "headwater group delete billing reports --yes",
        "headwater group delete old --profile prod",
    ),
)
@click.argument("groups", nargs=-1, required=True)
def command(session: Session, groups: tuple[str, ...]) -> None:
    """Delete groups with their positions."""
    groups = tuple(dict.fromkeys(groups))
    with session.connect() as client:
        for group in groups:
            require_group(client, group)
        found = [client.admin.groups.describe(group, ages=False) for group in groups]
        rows = [
            {
                "group": group.group,
                "state": group.state,
                "members": len(group.members),
                "lag": group.lag,
            }
            for group in found
        ]
        session.output.rows(("group", "state", "members", "lag"), rows, title="to delete")
        for group in groups:
            client.admin.groups.refuse_if_live(group, to="be deleted")
        session.ask(f"Delete {', '.join(groups)} and forget how far they are?")
        for group in groups:
            client.admin.groups.delete(group)
    session.output.note(f"deleted {', '.join(groups)}")
