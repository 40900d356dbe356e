"""Which offsets of which partitions: where a query begins, how far a batch goes, what each task reads."""

import re
import time
from collections.abc import Iterable, Mapping
from itertools import pairwise

from headwater.bulk.cluster import EARLIEST, LATEST, NO_OFFSET, Cluster, Topic
from headwater.bulk.ranges import OffsetRange, TopicPartition
from headwater.errors import InvalidRequest, NotFound
from headwater.streams.source.offsets import (
    AtOffsets,
    AtTimes,
    Bound,
    Everywhere,
    Offsets,
    refuse_other_partitions,
)
from headwater.streams.source.options import DEAD_SUFFIX, Pace, SourceOptions


class Plan:
    """Asks the log what there is; keeps nothing between two questions."""

    def __init__(self, options: SourceOptions, cluster: Cluster) -> None:
        self._options = options
        self._cluster = cluster

    def start(self) -> Offsets:
        """Where a new query begins."""
        starting = self._options.starting
        starts = self._resolve(starting, self.partitions())
        if isinstance(starting, AtOffsets) and self._options.fails_on_data_loss:
            latest = self.latest()
            for each, start in starts.items():
                if start > latest[each]:
                    raise InvalidRequest(
                        f"{starting.option} begins at {start} in {each}, which ends at {latest[each]}",
                        hint="-1 is the latest offset",
                    )
        return starts

    def end(self) -> Offsets:
        """Where a batch read ends."""
        ends = self._resolve(self._options.ending, self.partitions())
        if not isinstance(self._options.ending, AtOffsets):
            return ends
        latest = self.latest()
        for each, end in ends.items():
            if end > latest[each] and self._options.fails_on_data_loss:
                raise InvalidRequest(
                    f"{each} ends at {latest[each]}, before {end}",
                    hint="to read what is there, set failOnDataLoss to false",
                )
        return {each: min(end, latest[each]) for each, end in ends.items()}

    def latest(self, topics: Mapping[str, Topic] | None = None) -> Offsets:
        """Up to where the log can be read now."""
        return self._at(self.partitions(topics), LATEST)

    def earliest(self, partitions: Iterable[TopicPartition]) -> Offsets:
        return self._at(partitions, EARLIEST)

    def topics(self) -> Mapping[str, Topic]:
        """The topics to read, as of now."""
        wanted = self._options.subscription
        if wanted.pattern is not None:
            return self._matching(wanted.pattern)
        names = wanted.topics or sorted({each.topic for each in wanted.partitions})
        found = self._cluster.topics(names)
        missing = [each for each in names if each not in found]
        if missing:
            raise NotFound(
                f"topic {missing[0]!r} does not exist", hint="see the topics: headwater topic list"
            )
        return found

    def partitions(self, topics: Mapping[str, Topic] | None = None) -> list[TopicPartition]:
        """The partitions to read, as of now."""
        wanted = self._options.subscription.partitions
        found = (self.topics() if topics is None else topics).values()
        there = [TopicPartition(topic.name, each) for topic in found for each in topic.partitions]
        unknown = [each for each in wanted if each not in there]
        if unknown:
            raise NotFound(f"partition {unknown[0]} does not exist")
        return sorted(wanted or there)

    def _matching(self, pattern: str) -> dict[str, Topic]:
        """The pattern may match anywhere in a name, as in Spark; topics of the broker itself never match.

        A typed read leaves out dead letters: their own would be read again without end.
        """
        values = self._options.values
        ignored = () if values.format is None else (DEAD_SUFFIX, values.dead_letter_topic or "\0")
        return {
            name: topic
            for name, topic in self._cluster.topics().items()
            if re.search(pattern, name) and not topic.is_internal and not name.endswith(ignored)
        }

    def _resolve(self, bound: Bound, partitions: list[TopicPartition]) -> Offsets:
        if isinstance(bound, Everywhere):
            return self._at(partitions, bound.offset)
        if isinstance(bound, AtTimes):
            return self._at_times(bound, partitions)
        return self._at_offsets(bound, partitions)

    def _at_offsets(self, bound: AtOffsets, partitions: list[TopicPartition]) -> Offsets:
        refuse_other_partitions(bound.offsets, partitions, bound.option)
        found = dict(bound.offsets)
        for marker in (EARLIEST, LATEST):
            found |= self._at((each for each in partitions if found[each] == marker), marker)
        return found

    def _at_times(self, bound: AtTimes, partitions: list[TopicPartition]) -> Offsets:
        times = bound.times
        if isinstance(times, int):
            times = dict.fromkeys(partitions, times)
        refuse_other_partitions(times, partitions, bound.option)
        found = self._cluster.offsets(times, self._options.isolation)
        young = [each for each in partitions if found[each] == NO_OFFSET]
        if young and not bound.or_latest:
            raise InvalidRequest(
                f"{young[0]} has no record at the time of {bound.option} or later",
                hint="to begin at its end, set startingOffsetsByTimestampStrategy to latest",
            )
        return found | self._at(young, LATEST)

    def _at(self, partitions: Iterable[TopicPartition], offset: int) -> Offsets:
        asked = dict.fromkeys(partitions, offset)
        return self._cluster.offsets(asked, self._options.isolation) if asked else {}


class Pacing:
    """Lets a stream wait until a batch is worth it (`minOffsetsPerTrigger`)."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._last_batch_s = time.monotonic()

    def is_worth_it(self, starts: Mapping[TopicPartition, int], ends: Offsets) -> bool:
        """Whether there is enough to read, or the last batch is long enough ago."""
        count = sum(max(0, end - starts[each]) for each, end in ends.items())
        now_s = time.monotonic()
        waited_ms = (now_s - self._last_batch_s) * 1000
        if count < (self._pace.min_offsets or 0) and waited_ms < self._pace.max_delay_ms:
            return False
        self._last_batch_s = now_s
        return True


def limited(starts: Mapping[TopicPartition, int], ends: Offsets, limit: int) -> Offsets:
    """Ends with at most about `limit` offsets in all, shared out by size; no partition starves."""
    sizes = {each: end - starts[each] for each, end in ends.items() if end > starts[each]}
    total = sum(sizes.values())
    if total <= limit:
        return ends
    shares = {each: max(1, limit * size // total) for each, size in sizes.items()}
    return {each: starts[each] + shares[each] if each in shares else ends[each] for each in ends}


def tasks(ranges: Iterable[OffsetRange], pace: Pace) -> list[OffsetRange]:
    """Cut ranges into as many as are wanted, large ones into more pieces."""
    pieces = [each for each in ranges if each.size]
    limit = pace.max_records_per_partition
    if limit is not None:
        pieces = [part for each in pieces for part in _cut(each, -(-each.size // limit))]
    wanted = pace.min_partitions or 0
    if wanted > len(pieces):
        total = sum(each.size for each in pieces)
        pieces = [part for each in pieces for part in _cut(each, round(wanted * each.size / total))]
    return pieces


def _cut(whole: OffsetRange, count: int) -> list[OffsetRange]:
    count = max(1, min(count, whole.size))
    cuts = [whole.start + whole.size * each // count for each in range(count + 1)]
    return [OffsetRange(whole.topic, whole.partition, start, end) for start, end in pairwise(cuts)]
