"""End markers: written into every partition of a transaction, and durable before it is complete."""

import asyncio
import logging
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Any, Final

from headwater.broker import offsets_topic
from headwater.broker.committer import Committer
from headwater.broker.groups.coordinator import Groups
from headwater.broker.groups.journal import TransactionEnd
from headwater.broker.groups.records import TopicPartition
from headwater.broker.shared_futures import result_of
from headwater.broker.topics import Topics
from headwater.broker.transactions.transaction import Transaction
from headwater.errors import Fenced, HeadwaterError, NotFound
from headwater.wire.record_batch import ProducerIdAndEpoch

logger = logging.getLogger(__name__)

OFFSETS: Final = TopicPartition(offsets_topic.NAME, 0)
"""The one internal partition that takes part in transactions, through the groups."""

Begun = HeadwaterError | asyncio.Future[Any]
"""A marker under way, or why there is none."""


class PartitionMarkers:
    """Writes markers through the partitions' logs, and through the groups for their offsets."""

    def __init__(self, topics: Topics, groups: Groups, committer: Committer) -> None:
        self._topics = topics
        self._groups = groups
        self._committer = committer
        self.coordinator_epoch = 0

    async def write(
        self, transaction: Transaction, partitions: AbstractSet[TopicPartition]
    ) -> dict[TopicPartition, HeadwaterError]:
        """Write the outcome of a prepared transaction; see `journal.Markers`."""
        end = TransactionEnd(transaction.is_commit, self.coordinator_epoch, transaction.version)
        outcomes = await self.write_each(transaction.producer, end, sorted(partitions))
        failures = {}
        for partition, error in outcomes.items():
            if isinstance(error, Fenced | NotFound):
                # The partition is gone, or somebody (an administrator) has ended it with a newer epoch.
                logger.warning(
                    "no end marker was written: %s",
                    error,
                    extra={
                        "partition": f"{partition.topic}-{partition.partition}",
                        "transactional_id": transaction.transactional_id,
                    },
                )
            elif error is not None:
                failures[partition] = error
        return failures

    async def write_each(
        self,
        producer: ProducerIdAndEpoch,
        end: TransactionEnd,
        partitions: Iterable[TopicPartition],
    ) -> dict[TopicPartition, HeadwaterError | None]:
        """Write markers, and sync them all at once; returns for each partition why it has none."""
        begun = {each: self._begin(producer, end, each) for each in partitions}
        return {each: await _outcome(marker) for each, marker in begun.items()}

    def _begin(
        self, producer: ProducerIdAndEpoch, end: TransactionEnd, partition: TopicPartition
    ) -> Begun:
        """Append one marker now, and begin to sync it."""
        if partition == OFFSETS:
            return asyncio.ensure_future(self._groups.offsets.end_transaction(producer, end))
        topic = self._topics.get(partition.topic)
        found = topic.partition(partition.partition) if topic is not None else None
        if topic is None or found is None or topic.is_internal:
            return NotFound(f"{partition.topic}-{partition.partition} does not exist")
        try:
            found.log.end_transaction(
                producer,
                is_commit=end.is_commit,
                coordinator_epoch=end.coordinator_epoch,
                transaction_version=end.version,
            )
        except HeadwaterError as error:
            return error
        return self._committer.commit(found)


async def _outcome(begun: Begun) -> HeadwaterError | None:
    if isinstance(begun, HeadwaterError):
        return begun
    try:
        error: HeadwaterError | None = await result_of(begun)
    except HeadwaterError as raised:
        return raised
    return error
