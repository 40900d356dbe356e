"""`headwater group seek`."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.session import Session
from headwater.cli.suggestions import require_group, require_topic

if TYPE_CHECKING:
    from headwater.client import Client
    from headwater.client.admin.groups import SeekPlan

_NAMED = 3
"""So many partitions are told by name."""


@headwater_command(
    "seek",
    examples=(
        "headwater group seek billing --to start --dry-run",
        "headwater group seek billing --to @-1h --topic orders",
        "headwater group seek billing-copy --to-group billing --yes",
    ),
)
@click.argument("group")
@click.option(
    "--to", "position", metavar="POSITION", help="start, end, 47, +2, -3, @-1h, @09:00 ..."
)
@click.option("--to-group", "other", metavar="GROUP", help="Where this other group stands.")
@click.option(
    "--topic", "topics", multiple=True, help="Only in this topic (default: all it reads)."
)
@click.option("--dry-run", is_flag=True, help="Only show where it would go.")
def command(
    session: Session,
    group: str,
    position: str | None,
    other: str | None,
    topics: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Move a group to another position.

    The table shows the next offset to read, before and after. Stop the group's consumers first. An
    offset that a partition does not have becomes its start or its end, whichever is nearer.
    """
    if (position is None) == (other is None):
        raise click.UsageError("give --to POSITION or --to-group GROUP")
    with session.connect() as client:
        plan = _plan(client, group, position, other, topics)
        session.output.rows(
            ("topic", "partition", "before", "after", "end"), (asdict(move) for move in plan.moves)
        )
        _say_outside(session, position or "", plan)
        if dry_run:
            session.output.note("dry run: nothing was moved")
            return
        client.admin.groups.refuse_if_live(group)
        session.ask(f"Move group {group}?")
        client.admin.groups.seek(plan)
    session.output.note(f"moved group {group}")


def _say_outside(session: Session, position: str, plan: "SeekPlan") -> None:
    """As Kafka's own tool does: an offset outside of the log would leave it to each consumer's settings."""
    if not position.isdecimal():
        return
    moved = [each for each in plan.moves if each.after != int(position)]
    for each in moved[:_NAMED]:
        end = "ends" if each.after == each.end else "starts"
        session.output.note(
            f"{each.topic}/{each.partition} {end} at {each.after}: "
            f"the group goes there, for there is no offset {position}"
        )
    if len(moved) > _NAMED:
        session.output.note(f"and {len(moved) - _NAMED} more partitions, see above")


def _plan(
    client: "Client",
    group: str,
    position: str | None,
    other: str | None,
    topics: tuple[str, ...],
) -> "SeekPlan":
    for topic in topics:
        require_topic(client, topic)
    if other is not None:
        require_group(client, other)
        return client.admin.groups.plan_seek_to_group(group, other=other, topics=topics or None)
    if not topics:
        require_group(client, group)  # a new group can be placed, but only in topics that are named
    return client.admin.groups.plan_seek(group, to=position or "", topics=topics or None)
