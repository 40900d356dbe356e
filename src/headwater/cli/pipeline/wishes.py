"""What users want of running queries, left on the board where their runner looks."""

from headwater.cli.pipeline.names import matching
from headwater.cli.session import Session


def wish(session: Session, name: str, *, paused: bool) -> None:
    """Pause the queries of that name or let them go on, and say which they are."""
    with session.connect() as client:
        found = [each.name for each in matching(client, name)]
        from headwater.streams.run.board import Board  # noqa: PLC0415

        Board(client).wish(found, paused=paused)
    session.output.rows(("query", "paused"), [{"query": each, "paused": paused} for each in found])
