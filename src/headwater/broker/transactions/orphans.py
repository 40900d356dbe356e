"""Records of transactions that the coordinator does not know: what a crash may leave.

A first record and the step that adds its partition to the transaction are synced together. If only the
record survives, nobody was told of it, and nobody will ever end it: it is aborted before clients come.
"""

import logging

from headwater.broker.groups.journal import TransactionEnd
from headwater.broker.groups.records import TopicPartition
from headwater.broker.topics import Topics
from headwater.broker.transactions.coordinator import Transactions
from headwater.broker.transactions.markers import PartitionMarkers
from headwater.broker.transactions.transaction import TransactionState
from headwater.log.partition import PartitionLog
from headwater.wire.record_batch import ProducerIdAndEpoch

logger = logging.getLogger(__name__)


async def abort_orphans(
    topics: Topics, transactions: Transactions, markers: PartitionMarkers
) -> None:
    """Abort every open transaction in a partition that is not part of it for the coordinator."""
    known = {
        (each.producer.id, partition)
        for each in transactions
        if each.state is TransactionState.ONGOING or each.state.is_prepared
        for partition in each.partitions
    }
    for topic in topics:
        for partition in topic.partitions:
            place = TopicPartition(topic.name, partition.index)
            for producer in _open_in(partition.log):
                if (producer.id, place) in known:
                    continue
                if partition.log.damage:
                    # Its marker may be what is damaged: readers are told, nothing is thrown away.
                    partition.log.lose_transaction(producer.id)
                else:
                    logger.warning(
                        "a transaction that was never begun is aborted",
                        extra={"partition": partition.name, "producer_id": producer.id},
                    )
                    end = TransactionEnd(False, markers.coordinator_epoch, 0)
                    await markers.write_each(producer, end, [place])


def _open_in(log: PartitionLog) -> list[ProducerIdAndEpoch]:
    """Producers with an open transaction."""
    epochs = {producer_id: state.epoch for producer_id, state in log.producers}
    return [
        ProducerIdAndEpoch(producer_id, epochs[producer_id])
        for producer_id, _ in log.producers.transactions
    ]
