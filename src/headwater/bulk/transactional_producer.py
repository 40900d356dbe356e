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
import pyarrow.compute as pc

from headwater.bulk.broker_errors import refuse
from headwater.bulk.cluster import Cluster
from headwater.bulk.connection import Connection
from headwater.bulk.encode import BATCH_BYTES, Encoded, Sender, batch_bytes, encode
from headwater.bulk.group_offsets import Committed
from headwater.bulk.partitioner import partitions_of
from headwater.bulk.ranges import TopicPartition
from headwater.bulk.topic_configs import topic_configs
from headwater.bulk.transaction_requests import TransactionRequests
from headwater.errors import InvalidRequest, InvalidTransaction, NotFound, Unavailable
from headwater.wire.compression import NONE
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from headwater.wire.record_batch import ProducerIdAndEpoch

PRODUCE_VERSION: Final = 9

MOST_IN_FLIGHT: Final = 5
"""Of so many batches of a producer the broker knows that it has them already."""

T = TypeVar("T")

_LIMIT: Final = "max.message.bytes"
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
        self._requests = TransactionRequests(cluster, transactional_id)
        self._codec = codec
        self._timeout_ms = timeout_ms
        self._was_repeated = False
        self._producer = self._take_over()
        self._counts: dict[str, int] = {}
        self._batch_bytes: dict[str, int] = {}
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
        requests, producer = self._requests, self._producer
        self._patiently(partial(requests.add_offsets, producer, group))
        self._patiently(partial(requests.commit_offset, producer, group, partition, committed))

    def commit(self) -> None:
        self.flush()
        self._end(is_commit=True)
        self._added.clear()
        if self._was_repeated:
            # The first copy of what was sent twice may still arrive: in a new epoch it changes nothing.
            self._producer = self._take_over()
            self._sequences.clear()
            self._was_repeated = False

    def abort(self) -> None:
        """Take back all that was sent, without waiting for answers; then it is of no use any more."""
        self._in_flight.clear()
        self._cluster.close()
        with contextlib.suppress(InvalidTransaction):  # nothing had come so far
            self._end(is_commit=False)

    def _encoded(
        self, topic: str, records: pa.RecordBatch, now_ms: int
    ) -> dict[TopicPartition, list[Encoded]]:
        count = self._partition_count(topic, records["partition"])
        places = partitions_of(records["key"], records["partition"], count)
        order = np.argsort(places, kind="stable")
        places = places[order]
        firsts = np.flatnonzero(np.diff(places, prepend=-1)).tolist()
        if len(firsts) > 1:
            records = records.take(pa.array(order))
        batches: dict[TopicPartition, list[Encoded]] = {}
        sender = Sender(self._producer, self._codec, self._batch_bytes_of(topic))
        for first, batch in encode(records, firsts, now_ms, sender):
            batches.setdefault(TopicPartition(topic, int(places[first])), []).append(batch)
        return batches

    def _partition_count(self, topic: str, named: pa.Array) -> int:
        """Ask the broker again if a record names a partition that the topic did not have."""
        largest: int = -1 if named.null_count == len(named) else pc.max(named).as_py()
        if topic not in self._counts or largest >= self._counts[topic]:
            self.flush()
            self._counts[topic] = self._cluster.partition_count(topic)
        count = self._counts[topic]
        if largest >= count:
            raise InvalidRequest(
                f"cannot write to partition {largest} of topic {topic!r}: "
                f"its number of partitions is {count}",
                hint="they are counted from 0; null leaves it to the key",
            )
        return count

    def _batch_bytes_of(self, topic: str) -> int:
        if topic not in self._batch_bytes:
            self.flush()
            try:
                limit = int(topic_configs(self._cluster, topic, (_LIMIT,))[_LIMIT])
            except InvalidRequest:  # this user may write, but not look
                self._batch_bytes[topic] = BATCH_BYTES
            else:
                self._batch_bytes[topic] = batch_bytes(limit)
        return self._batch_bytes[topic]

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
        return self._patiently(partial(self._requests.take_over, self._timeout_ms))

    def _add_partitions(self, partitions: Iterable[TopicPartition]) -> bool:
        """Make partitions part of the transaction; returns whether any is new."""
        added = set(partitions) - self._added
        if added:
            self.flush()
            self._patiently(partial(self._requests.add, self._producer, added))
            self._added |= added
        return bool(added)

    def _end(self, *, is_commit: bool) -> None:
        self._patiently(partial(self._requests.end, self._producer, is_commit=is_commit))
