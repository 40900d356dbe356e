"""`headwater pipeline reset`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.pipeline.names import known, matching
from headwater.cli.pipeline.older import older_versions
from headwater.cli.pipeline.place import surroundings
from headwater.cli.pipeline.together import Member, emptied, together
from headwater.cli.session import Session
from headwater.clock import SystemClock
from headwater.errors import Conflict

if TYPE_CHECKING:
    from headwater.client.admin.topics import Topics
    from headwater.streams.run.board import Board
    from headwater.streams.run.checkpoints import Checkpoints
    from headwater.streams.run.status import Status

WATCH_S: Final = 5.0
"""More than twice what a runner lets pass between two reports."""


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

    Its checkpoint is removed, its topic and its quarantine are emptied. Queries that fill the same topic,
    and those that read it, begin again with it, so that nothing is lost or there twice; so do their
    older versions. The plan names them.
    """
    with session.connect() as client:
        from headwater.streams.run.board import Board  # noqa: PLC0415

        board = Board(client)
        checkpoints = surroundings(session, client).checkpoints
        present = known(client)
        older = older_versions(present, checkpoints)
        members = together(matching(client, name), [*present, *older])
        _refuse_busy(members, board)
        _refuse_elsewhere(members, checkpoints)
        topics = client.admin.topics
        sizes = topics.sizes(topic for each in members for topic in emptied(each.status))
        session.output.rows(
            ("query", "why", "topic", "records", "quarantined"),
            [_row(each, sizes) for each in members],
            title="to forget",
        )
        names = ", ".join(_named(each.status) for each in members)
        session.ask(f"Forget the results and the state of {names}?")
        for each in members:
            _forget(each, checkpoints)
        _empty(topics, members, sizes)
        board.take_down(each.status.name for each in members if each.status.state != "older")
    session.output.note("they begin again at the next run")


def _refuse_busy(members: Sequence[Member], board: "Board") -> None:
    from headwater.streams.run.status import ACTIVE  # noqa: PLC0415

    lost = [each.status.name for each in members if each.status.state == "lost"]
    alive = board.heard_of(lost, SystemClock(), within_s=WATCH_S) if lost else ()
    busy = [
        each.status for each in members if each.status.state in ACTIVE or each.status.name in alive
    ]
    if busy:
        pause = busy[0].name if len(busy) == 1 else busy[0].pipeline
        raise Conflict(
            f"{', '.join(each.name for each in busy)} {'is' if len(busy) == 1 else 'are'} running",
            hint=f"stop what runs first, or: headwater pipeline pause {pause}",
        )


def _refuse_elsewhere(members: Sequence[Member], checkpoints: "Checkpoints") -> None:
    """A reader that is emptied without its checkpoint would lack its rows for good."""
    for each in members:
        if each.why != "named" and not checkpoints.knows(each.status.pipeline):
            raise Conflict(
                f"{each.status.name}, which {each.why}, must begin again too, "
                f"but its checkpoint is not in {checkpoints.root}",
                hint=f"reset it first, where it runs: headwater pipeline reset {each.status.name}",
            )


def _row(member: Member, sizes: Mapping[str, int]) -> dict[str, str | int]:
    topic, quarantine = emptied(member.status)
    return {
        "query": _named(member.status),
        "why": member.why,
        "topic": topic,
        "records": sizes.get(topic, 0),
        "quarantined": sizes.get(quarantine, 0),
    }


def _named(status: "Status") -> str:
    return f"{status.name} (older)" if status.state == "older" else status.name


def _forget(member: Member, checkpoints: "Checkpoints") -> None:
    """Other versions stay as long as their topics do."""
    status = member.status
    for each in checkpoints.of_all_versions(status.pipeline, status.query):
        if each.topic in (status.topic, None):
            each.remove()


def _empty(topics: "Topics", members: Sequence[Member], there: Iterable[str]) -> None:
    views = {each.status.topic for each in members if each.status.kind != "table"}
    for topic in there:
        if topic in views:  # Kafka trims no compacted topic; followers notice a new one, too.
            topics.delete(topic)
        else:
            topics.trim(topics.plan_trim(topic, before="end"))
