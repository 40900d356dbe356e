"""`__consumer_offsets`: the compacted topic that holds groups and committed offsets.

It is an ordinary log, so one durability path serves records and offsets alike.
"""

from collections.abc import Sequence
from typing import Final

from headwater.broker.committer import Committer
from headwater.broker.partition import Partition

NAME: Final = "__consumer_offsets"
CONFIGS: Final = {
    "cleanup.policy": "compact",
    "compression.type": "producer",
    "segment.bytes": "104857600",
}


class OffsetsJournal:
    """The groups' journal on that topic."""

    def __init__(self, partition: Partition, committer: Committer) -> None:
        self._partition = partition
        self._committer = committer

    async def append(self, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Write the records; they are durable when this returns."""
        self._partition.log.append_own(list(records))
        await self._committer.durable(self._partition)
