"""`__consumer_offsets`: the compacted topic that holds groups and committed offsets.

It is an ordinary log, so one durability path serves records and offsets alike; offsets that are part of a
transaction are transactional batches in it, as in Kafka.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from headwater.broker.committer import Committer
from headwater.broker.groups.journal import Entry
from headwater.broker.groups.pieces import cut, size_of
from headwater.broker.partition import Partition
from headwater.errors import HeadwaterError
from headwater.wire.record_batch import HEADER_SIZE, NOBODY

NAME: Final = "__consumer_offsets"
CONFIGS: Final = {
    "cleanup.policy": "compact",
    "compression.type": "producer",
    # Every start reads all of it: what is outdated goes soon, and who else reads it has a minute.
    "segment.bytes": "8388608",
    "delete.retention.ms": "60000",
}


class OffsetsJournal:
    """The groups' journal on that topic."""

    def __init__(self, partition: Partition, committer: Committer) -> None:
        self._partition = partition
        self._committer = committer

    async def append(self, entries: Sequence[Entry]) -> None:
        """Write the entries; they are durable when this returns."""
        for is_plain, group in groupby(entries, key=lambda each: each.producer == NOBODY):
            for batch in self._batches_of(group) if is_plain else ([each] for each in group):
                try:
                    self._write(batch)
                except HeadwaterError as error:
                    for each in batch:
                        each.error = error
        await self._committer.durable(self._partition)

    def _batches_of(self, entries: Iterable[Entry]) -> Iterator[list[Entry]]:
        """Put together what fits: an entry that is too large must not spoil those beside it."""
        most_bytes = self._partition.log.settings.max_message_bytes - HEADER_SIZE
        return cut(entries, lambda each: sum(map(size_of, each.records)), most_bytes)

    def _write(self, entries: list[Entry]) -> None:
        """Write entries without a producer together; one with a producer is a batch of its own."""
        log, first = self._partition.log, entries[0]
        if first.end is not None:
            log.end_transaction(
                first.producer,
                is_commit=first.end.is_commit,
                coordinator_epoch=first.end.coordinator_epoch,
                transaction_version=first.end.version,
            )
            return
        records = [record for each in entries for record in each.records]
        next_offset = log.append_own(records, first.producer).base_offset
        for each in entries:
            each.base_offset = next_offset
            next_offset += len(each.records)
