"""`headwater topic trim`."""

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.session import Session
from headwater.cli.suggestions import require_topic


@headwater_command(
    "trim",
    examples=(
        "headwater topic trim orders --before @-7d --dry-run",
        "headwater topic trim orders --before 1000",
        "headwater topic trim orders --before end --yes",
    ),
)
@click.argument("topic")
@click.option("--before", required=True, metavar="POSITION", help="Remove what lies before.")
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
def command(session: Session, topic: str, before: str, dry_run: bool) -> None:
    """Remove the oldest records of a topic.

    POSITION is an offset (1000), a distance (+10, -10), start, end, or a time (@-7d, @2026-09-01).
    The table shows each partition's first offset before and after.
    """
    with session.connect() as client:
        require_topic(client, topic)
        client.admin.topics.refuse_if_only_compacted(topic)
        plan = client.admin.topics.plan_trim(topic, before=before)
        rows = [
            {
                "topic": topic,
                "partition": trim.partition,
                "before": trim.before,
                "after": trim.after,
                "end": trim.end,
                "records": trim.records,
            }
            for trim in plan.trims
        ]
        session.output.rows(("topic", "partition", "before", "after", "end", "records"), rows)
        if dry_run or not plan.records:
            session.output.note("dry run: nothing was removed" if dry_run else "nothing to remove")
            return
        session.ask(f"Remove {plan.records} records of {topic} for good?")
        client.admin.topics.trim(plan)
    session.output.note(f"removed {plan.records} records of {topic}")
