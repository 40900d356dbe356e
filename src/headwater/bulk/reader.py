"""Ranges of topics as Arrow: from the broker's files where they are at hand, else over the protocol."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pyarrow as pa

from headwater.bulk.batches import Batches
from headwater.bulk.cluster import EARLIEST, LATEST, Cluster
from headwater.bulk.decode import decode
from headwater.bulk.fetcher import fetch_range
from headwater.bulk.ranges import Isolation, OffsetRange
from headwater.bulk.segments import holds, read_segments
from headwater.errors import OffsetOutOfRange

SMALL_RANGE: Final = 10_000
"""Up to so many offsets the broker answers sooner than a position is found in a file: it has an index."""


@dataclass(frozen=True, slots=True)
class BulkReader:
    """Reads what a consumer of the same isolation would be given."""

    cluster: Cluster
    isolation: Isolation = Isolation.READ_COMMITTED
    with_headers: bool = False
    data_directory: Path | None = None
    """Where the broker keeps its data, as it says itself (`Cluster.data_directory`)."""

    def read(self, wanted: OffsetRange) -> Iterator[pa.RecordBatch]:
        """Yield the records of the range in the order of the log (columns as in `columns.py`).

        The range must lie within what the broker has: raises `OffsetOutOfRange` otherwise. A range may
        hold fewer records than offsets, after compaction or in transactions.
        """
        for batches in self._batches(wanted):
            yield from decode(batches, wanted, with_headers=self.with_headers)

    def _batches(self, wanted: OffsetRange) -> Iterator[Batches]:
        offset = wanted.start
        if wanted.size > SMALL_RANGE and self._is_local(wanted):
            self._refuse_out_of_range(wanted)
            assert self.data_directory is not None
            for batches in read_segments(self.data_directory, wanted):
                offset = batches.next_offset
                yield batches
        if offset < wanted.end:
            yield from fetch_range(self.cluster, replace(wanted, start=offset), self.isolation)

    def _is_local(self, wanted: OffsetRange) -> bool:
        if self.data_directory is None or not self.data_directory.is_dir():
            return False
        topic = self.cluster.topics([wanted.topic]).get(wanted.topic)
        return topic is not None and holds(self.data_directory, wanted, topic.topic_id)

    def _refuse_out_of_range(self, wanted: OffsetRange) -> None:
        """Files may still hold what was deleted, and already hold what is not durable."""
        partition = wanted.topic_partition
        earliest = self.cluster.offsets({partition: EARLIEST})[partition]
        latest = self.cluster.offsets({partition: LATEST}, self.isolation)[partition]
        if not earliest <= wanted.start <= wanted.end <= latest:
            raise OffsetOutOfRange(
                f"cannot read {wanted}: the log reaches from {earliest} to {latest}",
                hint="see: headwater topic describe",
            )
