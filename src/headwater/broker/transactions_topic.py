"""`__transaction_state`: the compacted topic that holds the state of every transactional id."""

import asyncio
from collections.abc import Sequence
from typing import Final

from headwater.broker.committer import Committer
from headwater.broker.groups.records import Record
from headwater.broker.partition import Partition

NAME: Final = "__transaction_state"
CONFIGS: Final = {
    "cleanup.policy": "compact",
    "compression.type": "uncompressed",
    # Every start reads all of it: what is outdated goes soon, and who else reads it has a minute.
    "segment.bytes": "8388608",
    "delete.retention.ms": "60000",
}


class TransactionsJournal:
    """The transaction coordinator's journal on that topic."""

    def __init__(self, partition: Partition, committer: Committer) -> None:
        self._partition = partition
        self._committer = committer

    def append(self, records: Sequence[Record]) -> None:
        """Write at once; what is written is durable after `durable`."""
        self._partition.log.append_own(records)

    def durable(self) -> asyncio.Future[None]:
        """Begin to sync what was written, in this round; the future is done when it is durable."""
        return self._committer.commit(self._partition)
