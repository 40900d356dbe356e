"""Whole Arrow batches into topics, in transactions, over the protocol.

A batch that may not have arrived is sent again with its number in the sequence of its partition: the broker
stores it once. Requests are under way while the next records are encoded.
"""

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count, zip_longest
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa

from headwater.bulk.broker_errors import refuse
from headwater.bulk.cluster import Cluster
from headwater.bulk.connection import Connection
from headwater.bulk.coordinators import group_coordinator, transaction_coordinator
from headwater.bulk.encode import Encoded, Sender, encode
from headwater.bulk.group_offsets import Committed
from headwater.bulk.partitioner import partitions_of
from headwater.bulk.ranges import TopicPartition
from headwater.errors import InvalidTransaction, NotFound, Unavailable
from headwater.wire.compression import NONE
from headwater.wire.error_codes import ErrorCode
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
from headwater.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from headwater.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from headwater.wire.record_batch import ProducerIdAndEpoch

PRODUCE_VERSION: Final = 9
INIT_PRODUCER_ID_VERSION: Final = 2
ADD_PARTITIONS_VERSION: Final = 3
ADD_OFFSETS_VERSION: Final = 3
TXN_OFFSET_COMMIT_VERSION: Final = 3
END_TXN_VERSION: Final = 3

MOST_IN_FLIGHT: Final = 5
"""Of so many batches of a producer the broker knows that it has them already."""

T = TypeVar("T")

_ALL: Final = -1
_ACK_WITHIN_MS: Final = 30_000
_STORED: Final = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)


@dataclass(slots=True)
class _Round:
    """At most one batch for each partition: what one request to each leader takes."""

    batches: dict[TopicPartition, bytes]
    """Those that are not acknowledged yet."""
    asked: list[tuple[Connection, int]] = field(default_factory=list)


class TransactionalProducer:
    """The one writer of a transactional id: who had it before is fenced, and its transaction aborted."""

    def __init__(
        self, cluster: Cluster, transactional_id: str, timeout_ms: int, codec: int = NONE
    ) -> None:
        self._cluster = cluster
        self._id = transactional_id
        self._codec = codec
        self._timeout_ms = timeout_ms
        self._was_repeated = False
        self._producer = self._patiently(self._take_over)
        self._counts: dict[str, int] = {}
        self._sequences: dict[TopicPartition, int] = {}
        self._added: set[TopicPartition] = set()
        self._in_flight: deque[_Round] = deque()

    def write(self, topic: str, records: pa.RecordBatch, now_ms: int) -> None:
        """Send records (columns key, value, partition, headers, timestamp) in the open transaction."""
        batches = self._encoded(topic, records, now_ms)
        is_new = self._add_partitions(batches)
        for nth in zip_longest(*batches.values()):
            sent = {
                partition: self._in_sequence(partition, each)
                for partition, each in zip(batches, nth, strict=True)
                if each is not None
            }
            self._send(_Round(sent))
            if is_new:
                # A broker takes any batch for the first one of a producer: nothing may overtake that.
                self.flush()

    def flush(self) -> None:
        """Wait until everything sent is stored."""
        while self._in_flight:
            self._settle_oldest()

    def commit_offset(self, group: str, partition: TopicPartition, committed: Committed) -> None:
        """Make an offset of a group part of the transaction."""
        self.flush()
        self._patiently(partial(self._add_offsets, group))
        self._patiently(partial(self._commit_offset, group, partition, committed))

    def commit(self) -> None:
        self.flush()
        self._patiently(partial(self._end, is_commit=True))
        self._added.clear()
        if self._was_repeated:
            # The first copy of what was sent twice may still arrive: in a new epoch it changes nothing.
            self._producer = self._patiently(self._take_over)
            self._sequences.clear()
            self._was_repeated = False

    def abort(self) -> None:
        """Take back all that was sent, without waiting for answers; then it is of no use any more."""
        self._in_flight.clear()
        self._cluster.close()
        with contextlib.suppress(InvalidTransaction):  # nothing had come so far
            self._patiently(partial(self._end, is_commit=False))

    def _encoded(
        self, topic: str, records: pa.RecordBatch, now_ms: int
    ) -> dict[TopicPartition, list[Encoded]]:
        if topic not in self._counts:
            self.flush()
            self._counts[topic] = self._cluster.partition_count(topic)
        places = partitions_of(records["key"], records["partition"], self._counts[topic])
        order = np.argsort(places, kind="stable")
        places = places[order]
        firsts = np.flatnonzero(np.diff(places, prepend=-1)).tolist()
        if len(firsts) > 1:
            records = records.take(pa.array(order))
        batches: dict[TopicPartition, list[Encoded]] = {}
        sender = Sender(self._producer, self._codec)
        for first, batch in encode(records, firsts, now_ms, sender):
            batches.setdefault(TopicPartition(topic, int(places[first])), []).append(batch)
        return batches

    def _in_sequence(self, partition: TopicPartition, batch: Encoded) -> bytes:
        sequence = self._sequences.get(partition, 0)
        self._sequences[partition] = (sequence + batch.header.record_count) % 2**31
        return batch.in_sequence(sequence)

    def _send(self, sent: _Round) -> None:
        while len(self._in_flight) >= MOST_IN_FLIGHT:
            self._settle_oldest()
        self._in_flight.append(sent)
        try:
            self._ask(sent)
        except (Unavailable, NotFound):
            self._send_again()

    def _settle_oldest(self) -> None:
        try:
            self._take_answers(self._in_flight[0])
        except (Unavailable, NotFound):
            self._send_again()
        else:
            self._in_flight.popleft()

    def _send_again(self) -> None:
        """Send what is not acknowledged, in order, on new connections, until it is stored."""
        self._was_repeated = True
        self._cluster.close()
        while self._in_flight:
            self._patiently(partial(self._store, self._in_flight[0]))
            self._in_flight.popleft()

    def _store(self, sent: _Round) -> None:
        self._ask(sent)
        self._take_answers(sent)

    def _ask(self, sent: _Round) -> None:
        by_leader: dict[Connection, dict[TopicPartition, bytes]] = {}
        for partition, batch in sent.batches.items():
            by_leader.setdefault(self._cluster.leader(partition), {})[partition] = batch
        sent.asked = [
            (leader, leader.send(self._request(batches), PRODUCE_VERSION))
            for leader, batches in by_leader.items()
        ]

    def _take_answers(self, sent: _Round) -> None:
        failed: tuple[int, TopicPartition] | None = None
        for connection, correlation_id in sent.asked:
            answer = connection.receive(correlation_id, PRODUCE_VERSION, ProduceResponse)
            for topic in answer.responses:
                for each in topic.partition_responses:
                    partition = TopicPartition(topic.name, each.index)
                    if each.error_code in _STORED:
                        del sent.batches[partition]
                    else:
                        failed = (each.error_code, partition)
        if failed is not None:
            refuse(failed[0], doing=f"write to {failed[1].topic!r}")

    def _request(self, batches: Mapping[TopicPartition, bytes]) -> ProduceRequest:
        by_topic: dict[str, list[PartitionProduceData]] = {}
        for (topic, partition), batch in batches.items():
            data = PartitionProduceData(index=partition, records=batch)
            by_topic.setdefault(topic, []).append(data)
        return ProduceRequest(
            transactional_id=self._id,
            acks=_ALL,
            timeout_ms=_ACK_WITHIN_MS,
            topic_data=[
                TopicProduceData(name=name, partition_data=each) for name, each in by_topic.items()
            ],
        )

    def _patiently(self, attempt: Callable[[], T]) -> T:
        """Try until it is done, and remember whether once was enough."""
        tries = count()

        def counted() -> T:
            self._was_repeated |= next(tries) > 0
            return attempt()

        return self._cluster.patiently(counted)

    def _take_over(self) -> ProducerIdAndEpoch:
        request = InitProducerIdRequest(
            transactional_id=self._id, transaction_timeout_ms=self._timeout_ms
        )
        answer = self._coordinator().call(request, INIT_PRODUCER_ID_VERSION, InitProducerIdResponse)
        refuse(answer.error_code, doing=f"take over from earlier attempts ({self._id})")
        return ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch)

    def _add_partitions(self, partitions: Iterable[TopicPartition]) -> bool:
        """Make partitions part of the transaction; returns whether any is new."""
        added = set(partitions) - self._added
        if added:
            self.flush()
            self._patiently(partial(self._add, added))
            self._added |= added
        return bool(added)

    def _add(self, partitions: set[TopicPartition]) -> None:
        by_topic: dict[str, list[int]] = {}
        for each in sorted(partitions):
            by_topic.setdefault(each.topic, []).append(each.partition)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._id,
            v3_and_below_producer_id=self._producer.id,
            v3_and_below_producer_epoch=self._producer.epoch,
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

    def _add_offsets(self, group: str) -> None:
        request = AddOffsetsToTxnRequest(
            transactional_id=self._id,
            producer_id=self._producer.id,
            producer_epoch=self._producer.epoch,
            group_id=group,
        )
        answer = self._coordinator().call(request, ADD_OFFSETS_VERSION, AddOffsetsToTxnResponse)
        refuse(answer.error_code, doing=f"mark what was written ({self._id})")

    def _commit_offset(self, group: str, partition: TopicPartition, committed: Committed) -> None:
        offset = TxnOffsetCommitRequestPartition(
            partition_index=partition.partition,
            committed_offset=committed.offset,
            committed_metadata=committed.metadata,
        )
        request = TxnOffsetCommitRequest(
            transactional_id=self._id,
            group_id=group,
            producer_id=self._producer.id,
            producer_epoch=self._producer.epoch,
            topics=[TxnOffsetCommitRequestTopic(name=partition.topic, partitions=[offset])],
        )
        answer = group_coordinator(self._cluster, group).call(
            request, TXN_OFFSET_COMMIT_VERSION, TxnOffsetCommitResponse
        )
        for topic in answer.topics:
            for each in topic.partitions:
                refuse(each.error_code, doing=f"mark what was written ({self._id})")

    def _end(self, *, is_commit: bool) -> None:
        request = EndTxnRequest(
            transactional_id=self._id,
            producer_id=self._producer.id,
            producer_epoch=self._producer.epoch,
            committed=is_commit,
        )
        answer = self._coordinator().call(request, END_TXN_VERSION, EndTxnResponse)
        verb = "commit" if is_commit else "take back"
        refuse(answer.error_code, doing=f"{verb} what was written ({self._id})")

    def _coordinator(self) -> Connection:
        return transaction_coordinator(self._cluster, self._id)
