"""Queries by name: `shop` is all queries of a pipeline, `shop.revenue` is one."""

from typing import TYPE_CHECKING

from headwater.cli.pipeline.place import require_spark
from headwater.clock import SystemClock
from headwater.errors import NotFound

if TYPE_CHECKING:
    from headwater.client import Client
    from headwater.streams.run.status import Status


def matching(client: "Client", name: str) -> "list[Status]":
    """What is known of the queries of that name; raises `NotFound`."""
    statuses = known(client)
    found = [each for each in statuses if name in (each.pipeline, each.name)]
    if not found:
        names = ", ".join(sorted({each.pipeline for each in statuses}))
        raise NotFound(
            f"no pipeline or query {name!r} has run here",
            hint=f"known pipelines: {names}" if names else "start one: headwater pipeline run",
        )
    return found


def known(client: "Client") -> "list[Status]":
    """All queries, as far as can be told by now."""
    require_spark()
    from headwater.streams.run.board import Board  # noqa: PLC0415

    now_ms = SystemClock().now_ms()
    return [each.as_of(now_ms) for each in Board(client).statuses()]
