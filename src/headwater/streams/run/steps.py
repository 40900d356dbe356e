"""The way from the topics that people write to a view: the queries that lead to it."""

from collections.abc import Iterable
from typing import Any, Final

from pyspark.sql import DataFrame

from headwater.streams.run.plan import Planned
from headwater.streams.run.read_positions import group_of
from headwater.views import Step

_STREAM: Final = "StreamingRelationV2"


class Steps:
    """How the queries of a run lead to each other."""

    def __init__(self, planned: Iterable[Planned]) -> None:
        self._reads = [(each, streams_of(each.records)) for each in planned]

    def to(self, planned: Planned) -> tuple[Step, ...]:
        """The queries on the way to the output of this one, itself last."""
        found: dict[str, Step] = {}

        def visit(query: Planned, reads: tuple[str, ...]) -> None:
            for each, its_reads in self._reads:
                if each.output.topic in reads and each.name not in found:
                    visit(each, its_reads)
            found[query.name] = Step(reads, group_of(query), query.output.topic)

        visit(planned, streams_of(planned.records))
        return tuple(found.values())


def streams_of(frame: DataFrame) -> tuple[str, ...]:
    """The topics that a query reads as streams.

    What it reads as a table, as of each batch, changes no result by itself.
    """
    leaves: Any = frame._jdf.queryExecution().analyzed().collectLeaves()  # noqa: SLF001
    streams = [leaves.apply(place) for place in range(leaves.length())]
    topics = {
        str(each.extraOptions().getOrDefault("subscribe", ""))
        for each in streams
        if each.nodeName() == _STREAM
    }
    return tuple(sorted(topics - {""}))
