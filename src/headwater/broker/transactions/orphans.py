"""Records of transactions that the coordinator does not know: what a crash may leave.

A first record and the step that adds its partition to the transaction are synced together. If only the
record survives, nobody was told of it, but its producer will send it again and be told that it is there. So
the step is taken again, from the record. Where that cannot be, the record is aborted: nobody would end it.
"""

import logging
from collections.abc import Iterator

from headwater.broker.groups.journal import TransactionEnd
from headwater.broker.groups.records import TopicPartition
from headwater.broker.topics import Topics
from headwater.broker.transactions.coordinator import Transactions
from headwater.broker.transactions.markers import PartitionMarkers
from headwater.broker.transactions.transaction import Transaction
from headwater.log.partition import PartitionLog
from headwater.wire.record_batch import ProducerIdAndEpoch

logger = logging.getLogger(__name__)


async def settle_orphans(
    topics: Topics, transactions: Transactions, markers: PartitionMarkers
) -> None:
    """Bring partitions and coordinator together again; before clients come."""
    owners = {each.producer.id: each for each in transactions}
    for partition, log, producer in _open_transactions(topics):
        owner = owners.get(producer.id)
        if owner is not None and partition in owner.partitions:
            continue
        if log.damage:
            # Its marker may be what is damaged: readers are told, nothing is thrown away.
            log.lose_transaction(producer.id)
        elif owner is not None and owner.producer == producer and not owner.state.is_prepared:
            owners[producer.id] = _adopt(transactions, owner, partition)
        else:
            logger.warning(
                "records of a transaction that nobody knows are aborted",
                extra={"partition": f"{partition.topic}-{partition.partition}"},
            )
            end = TransactionEnd(
                is_commit=False, coordinator_epoch=markers.coordinator_epoch, version=0
            )
            await markers.write_each(producer, end, [partition])
    await transactions.durable()


def _adopt(
    transactions: Transactions, owner: Transaction, partition: TopicPartition
) -> Transaction:
    logger.info(
        "a step that a crash took back is taken again",
        extra={"transactional_id": owner.transactional_id},
    )
    transactions.add(owner.transactional_id, owner.producer, {partition}, owner.version)
    return transactions.find(owner.transactional_id) or owner


def _open_transactions(
    topics: Topics,
) -> Iterator[tuple[TopicPartition, PartitionLog, ProducerIdAndEpoch]]:
    for topic in topics:
        for each in topic.partitions:
            if not each.is_open:
                continue  # It could not be recovered.
            epochs = {producer_id: state.epoch for producer_id, state in each.log.producers}
            for producer_id, _ in list(each.log.producers.transactions):
                producer = ProducerIdAndEpoch(producer_id, epochs[producer_id])
                yield TopicPartition(topic.name, each.index), each.log, producer
