"""What a transactional producer asks of coordinators: one question each, asked once."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from headwater.bulk.broker_errors import refuse
from headwater.bulk.cluster import Cluster
from headwater.bulk.connection import Connection
from headwater.bulk.coordinators import group_coordinator, transaction_coordinator
from headwater.bulk.group_offsets import Committed
from headwater.bulk.ranges import TopicPartition
from headwater.wire.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from headwater.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from headwater.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from headwater.wire.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from headwater.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from headwater.wire.record_batch import ProducerIdAndEpoch

INIT_PRODUCER_ID_VERSION: Final = 2
ADD_PARTITIONS_VERSION: Final = 3
ADD_OFFSETS_VERSION: Final = 3
TXN_OFFSET_COMMIT_VERSION: Final = 3
END_TXN_VERSION: Final = 3


@dataclass(frozen=True, slots=True)
class TransactionRequests:
    """Questions in the name of one transactional id; a refusal is raised, an answer may be lost."""

    cluster: Cluster
    transactional_id: str

    def take_over(self, timeout_ms: int) -> ProducerIdAndEpoch:
        """Fence who had the id before, and abort what it left open."""
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id, transaction_timeout_ms=timeout_ms
        )
        answer = self._coordinator().call(request, INIT_PRODUCER_ID_VERSION, InitProducerIdResponse)
        refuse(
            answer.error_code, doing=f"take over from earlier attempts ({self.transactional_id})"
        )
        return ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch)

    def add(self, producer: ProducerIdAndEpoch, partitions: Iterable[TopicPartition]) -> None:
        by_topic: dict[str, list[int]] = {}
        for each in sorted(partitions):
            by_topic.setdefault(each.topic, []).append(each.partition)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=producer.id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=name, partitions=each)
                for name, each in by_topic.items()
            ],
        )
        answer = self._coordinator().call(
            request, ADD_PARTITIONS_VERSION, AddPartitionsToTxnResponse
        )
        for topic in answer.results_by_topic_v3_and_below:
            for result in topic.results_by_partition:
                refuse(result.partition_error_code, doing=f"write to {topic.name!r}")

    def add_offsets(self, producer: ProducerIdAndEpoch, group: str) -> None:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            group_id=group,
        )
        answer = self._coordinator().call(request, ADD_OFFSETS_VERSION, AddOffsetsToTxnResponse)
        refuse(answer.error_code, doing=f"mark what was written ({self.transactional_id})")

    def commit_offset(
        self,
        producer: ProducerIdAndEpoch,
        group: str,
        partition: TopicPartition,
        committed: Committed,
    ) -> None:
        offset = TxnOffsetCommitRequestPartition(
            partition_index=partition.partition,
            committed_offset=committed.offset,
            committed_metadata=committed.metadata,
        )
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=group,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            topics=[TxnOffsetCommitRequestTopic(name=partition.topic, partitions=[offset])],
        )
        answer = group_coordinator(self.cluster, group).call(
            request, TXN_OFFSET_COMMIT_VERSION, TxnOffsetCommitResponse
        )
        for topic in answer.topics:
            for each in topic.partitions:
                refuse(each.error_code, doing=f"mark what was written ({self.transactional_id})")

    def end(self, producer: ProducerIdAndEpoch, *, is_commit: bool) -> None:
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            committed=is_commit,
        )
        answer = self._coordinator().call(request, END_TXN_VERSION, EndTxnResponse)
        verb = "commit" if is_commit else "take back"
        refuse(answer.error_code, doing=f"{verb} what was written ({self.transactional_id})")

    def _coordinator(self) -> Connection:
        return transaction_coordinator(self.cluster, self.transactional_id)
