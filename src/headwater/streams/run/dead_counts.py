"""How many values each query could not read: every query that reads a topic writes letters of its own.

Letters are read once, as they come; what is kept is a number for each partition and query.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from headwater.bulk.cluster import EARLIEST, LATEST, Cluster
from headwater.bulk.ranges import OffsetRange, TopicPartition
from headwater.bulk.reader import BulkReader
from headwater.streams.log_access import BOOTSTRAP, LogAccess
from headwater.streams.run.surroundings import Surroundings
from headwater.streams.source.dead_letters import QUERY

_PATIENCE_S: Final = 5.0
"""The runner has more to do than to wait for a log that is away."""

_NOBODY: Final = ""
"""Whose letters those are that name no query: of a server of views, or of earlier versions."""


@dataclass(slots=True)
class _Counted:
    """The letters of one partition from `start` up to `end`, by query."""

    topic_id: bytes
    start: int
    end: int
    letters: Counter[str] = field(default_factory=Counter)


class DeadCounts:
    def __init__(self, where: Surroundings) -> None:
        self._log = LogAccess.of({BOOTSTRAP: where.bootstrap, **where.kafka_options})
        self._counted: dict[TopicPartition, _Counted] = {}

    def of(self, query: str, topics: Iterable[str]) -> int:
        """Letters in these topics that no other query wrote, as of the last look."""
        wanted = set(topics)
        return sum(
            counted.letters[query] + counted.letters[_NOBODY]
            for partition, counted in self._counted.items()
            if partition.topic in wanted
        )

    def look(self, topics: Iterable[str]) -> None:
        """Take in what has come since the last look, or has expired."""
        with self._log.cluster(_PATIENCE_S) as cluster:
            there = cluster.topics(topics)
            ids = {
                TopicPartition(each.name, number): each.topic_id
                for each in there.values()
                for number in each.partitions
            }
            starts, ends = (
                cluster.offsets(dict.fromkeys(ids, bound)) if ids else {}
                for bound in (EARLIEST, LATEST)
            )
            self._counted = {each: self._begun(each, ids[each], starts[each]) for each in ids}
            for partition, counted in self._counted.items():
                _bring_up(cluster, partition, counted, ends[partition])

    def _begun(self, partition: TopicPartition, topic_id: bytes, start: int) -> _Counted:
        """What was counted, unless some of it is gone."""
        before = self._counted.get(partition)
        if before is not None and (before.topic_id, before.start) == (topic_id, start):
            return before
        return _Counted(topic_id, start, start)


def _bring_up(cluster: Cluster, partition: TopicPartition, counted: _Counted, end: int) -> None:
    if counted.end >= end:
        return
    for records in BulkReader(cluster, with_headers=True).read(
        OffsetRange(*partition, counted.end, end)
    ):
        counted.letters += _by_query(records["headers"])
        counted.end = records["offset"][-1].as_py() + 1
    counted.end = end


def _by_query(headers: pa.Array) -> Counter[str]:
    flat = pc.list_flatten(headers)
    names = flat.field("value").filter(pc.equal(flat.field("key"), QUERY))
    found = Counter(
        {
            each["values"].decode(errors="replace"): each["counts"]
            for each in pc.value_counts(names.drop_null()).to_pylist()
        }
    )
    found[_NOBODY] = len(headers) - found.total()
    return found
