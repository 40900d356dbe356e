"""What the coordinator needs of the rest of the broker: a log of its own, markers, and producer ids."""

import asyncio
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from headwater.broker.groups.records import Record, TopicPartition
from headwater.broker.transactions.transaction import Transaction
from headwater.errors import HeadwaterError


class Journal(Protocol):
    """`__transaction_state`, compacted by key; a null value deletes the key."""

    def append(self, records: Sequence[Record]) -> None:
        """Write at once, in order; raises `StorageFailed` if nothing was written."""

    def durable(self) -> asyncio.Future[None]:
        """Begin at once to make all that was written durable; the future is done when it is.

        It fails with `StorageFailed` if it never will be. Others share it: `result_of` waits for it.
        """


class Markers(Protocol):
    """Writes how a transaction ends into its partitions."""

    async def write(
        self, transaction: Transaction, partitions: AbstractSet[TopicPartition]
    ) -> dict[TopicPartition, HeadwaterError]:
        """Write the outcome of a prepared transaction into some of its partitions, durably.

        Returns those that may not have their marker, and why; for them it can be called again.
        """


class ProducerIds(Protocol):
    async def allocate(self) -> int:
        """Return an id that was never given before; raises `HeadwaterError`."""
