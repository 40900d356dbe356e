"""`headwater pipeline reset`."""

from pathlib import Path

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.pipeline.names import matching
from headwater.cli.pipeline.place import surroundings
from headwater.cli.session import Session
from headwater.errors import Conflict

ACTIVE = ("running", "starting", "restarting")


@headwater_command(
    "reset",
    examples=(
        "headwater pipeline reset shop.revenue",
        "headwater pipeline reset shop --yes",
        "headwater pipeline reset shop.revenue --profile prod",
    ),
)
@click.argument("name")
def command(session: Session, name: str) -> None:
    """Forget the results of a query and begin again at the start of its topics.

    Its checkpoint is removed and its output topic emptied, so that nothing is there twice.
    """
    with session.connect() as client:
        found = matching(client, name)
        busy = [each.name for each in found if each.state in ACTIVE]
        if busy:
            raise Conflict(
                f"{', '.join(busy)} is running",
                hint=f"stop it first, or: headwater pipeline pause {busy[0]}",
            )
        where = surroundings(session, client)
        there = set(client.admin.topics.names())
        plans = [
            client.admin.topics.plan_trim(each.topic, before="end") if each.topic in there else None
            for each in found
        ]
        folders = [where.state / each.pipeline / each.query for each in found]
        session.output.rows(
            ("query", "topic", "records"),
            [
                {
                    "query": each.name,
                    "topic": each.topic,
                    "records": trims.records if trims else 0,
                }
                for each, trims in zip(found, plans, strict=True)
            ],
            title="to forget",
        )
        session.ask(f"Forget the results and the state of {', '.join(e.name for e in found)}?")
        for each, folder, trims in zip(found, folders, plans, strict=True):
            _remove(folder)
            if trims is None:
                continue
            if each.kind == "table":
                client.admin.topics.trim(trims)
            else:  # Kafka trims no compacted topic; followers notice a new one and begin again, too.
                client.admin.topics.delete(each.topic)
    session.output.note("they begin again at the next run")


def _remove(folder: Path) -> None:
    from headwater.streams.run.checkpoints import Checkpoint  # noqa: PLC0415

    for each in folder.parent.glob(f"{folder.name}.v*"):
        Checkpoint(each).remove()
