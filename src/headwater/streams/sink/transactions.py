"""Transactional producers of sink tasks: one for each task, kept by the worker process between batches.

A producer that is made anew fences the one before it, so of two attempts of a task at most one can
commit; then it reads the marker, which says what has been committed.
"""

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from headwater.client.kafka_errors import error_of, translate
from headwater.errors import Fenced
from headwater.streams.sink.markers import MARKERS_TOPIC
from headwater.streams.sink.options import SinkOptions
from headwater.streams.sink.rows import Message, Outgoing, outgoing

if TYPE_CHECKING:
    import pyarrow as pa

_TIMEOUT_S: Final = 60.0
_MOST_QUEUED: Final = 200_000
_PIECE: Final = 10_000
_ATTEMPTS: Final = 10
_WAIT_S: Final = 0.01

_producers: "dict[tuple[SinkOptions, str], TransactionalProducer]" = {}


def transactional(options: SinkOptions, task: str) -> "TransactionalProducer":
    """The producer of this task: the one of the last batch if this process has it, else a new one."""
    found = _producers.get((options, task))
    if found is None:
        found = _producers[options, task] = TransactionalProducer(options, task)
    return found


class TransactionalProducer:
    """A producer with a fixed transactional id, and what its marker says."""

    def __init__(self, options: SinkOptions, task: str) -> None:
        self.options = options
        self._task = task
        self.kafka = Producer(
            {
                **options.kafka,
                "transactional.id": f"headwater-{task}",
                "transaction.timeout.ms": options.transaction_timeout_ms,
                # As Kafka's own clients do, so that a key is in the same partition whoever writes it.
                "partitioner": "murmur2_random",
                "linger.ms": 5,
                "batch.size": 1_000_000,
                "queue.buffering.max.messages": 2 * _MOST_QUEUED,
                "queue.buffering.max.kbytes": 512_000,
                "compression.type": options.compression,
                "log_level": 2,
            }
        )
        self._markers = Consumer(
            {
                **options.kafka,
                "group.id": f"headwater-sink-{task}",
                "enable.auto.commit": False,
                "log_level": 2,
            }
        )
        try:
            self.kafka.init_transactions(_TIMEOUT_S)
            self.next_batch = self._read_marker()
        except KafkaException as error:
            raise error_of(error, doing="begin a transaction of the sink") from error

    def marker(self, next_batch: int) -> TopicPartition:
        return TopicPartition(MARKERS_TOPIC, 0, next_batch)

    def group(self) -> object:
        """Whose position the marker is."""
        return self._markers.consumer_group_metadata()

    def forget(self) -> None:
        """The next batch makes a new producer, which fences this one."""
        _producers.pop((self.options, self._task), None)

    def _read_marker(self) -> int:
        (found,) = self._markers.committed([self.marker(0)], timeout=_TIMEOUT_S)
        if found.error is not None:
            raise KafkaException(found.error)
        return max(found.offset, 0)


class Transaction:
    """Rows and the marker, all or nothing; leaving without `commit` aborts."""

    def __init__(self, producer: TransactionalProducer) -> None:
        self._producer = producer
        self._kafka = producer.kafka
        self._is_open = False

    def __enter__(self) -> Self:
        self._call("begin a transaction", self._kafka.begin_transaction)
        self._is_open = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._is_open:
            self._producer.forget()
            if not isinstance(error, Fenced):
                self._abort()

    def send(self, batch: "pa.RecordBatch") -> int:
        """Hand the rows to the producer; waits while too much is on its way."""
        for each in outgoing(batch, self._producer.options.topic):
            self._queue(each)
        return int(batch.num_rows)

    def commit(self, *, next_batch: int) -> None:
        """Make rows and marker visible."""
        producer = self._producer
        self._call(
            "add the marker to the transaction",
            self._kafka.send_offsets_to_transaction,
            [producer.marker(next_batch)],
            producer.group(),
            _TIMEOUT_S,
        )
        self._call("commit the transaction", self._kafka.commit_transaction, _TIMEOUT_S)
        self._is_open = False
        producer.next_batch = next_batch

    def _queue(self, rows: Outgoing) -> None:
        if rows.headers is not None:
            self._queue_with_headers(rows)
            return
        messages = rows.messages
        while messages:
            self._wait_for_room()
            piece, messages = messages[:_PIECE], messages[_PIECE:]
            queued = self._kafka.produce_batch(rows.topic, piece)
            self._kafka.poll(0)
            if queued < len(piece):
                messages = [*_not_queued(piece, rows.topic), *messages]

    def _queue_with_headers(self, rows: Outgoing) -> None:
        """One by one: librdkafka takes headers no other way."""
        assert rows.headers is not None
        for message, headers in zip(rows.messages, rows.headers, strict=True):
            self._wait_for_room()
            try:
                self._kafka.produce(rows.topic, headers=headers, **message)
            except (KafkaException, BufferError) as error:
                raise error_of(error, doing=f"write to {rows.topic!r}") from error

    def _wait_for_room(self) -> None:
        while len(self._kafka) > _MOST_QUEUED:
            self._kafka.poll(_WAIT_S)

    def _call(self, doing: str, function: Callable[..., Any], *arguments: Any) -> None:
        """Call into librdkafka; what it says may be tried again is tried again, for a while."""
        for attempts_left in reversed(range(_ATTEMPTS)):
            try:
                function(*arguments)
            except KafkaException as error:
                if not attempts_left or not error.args[0].retriable():
                    raise error_of(error, doing=doing) from error
            else:
                return

    def _abort(self) -> None:
        try:
            self._kafka.abort_transaction(_TIMEOUT_S)
        except KafkaException as error:
            # The next attempt fences this one; the broker aborts what it left open.
            raise error_of(error, doing="abort a transaction of the sink") from error


def _not_queued(messages: list[Message], topic: str) -> list[Message]:
    """What the client had no room for; any other error of a row ends the transaction."""
    left = [each for each in messages if "_error" in each]
    for each in left:
        error = each.pop("_error")
        assert isinstance(error, KafkaError)
        if error.code() != KafkaError._QUEUE_FULL:  # noqa: SLF001
            raise translate(error, doing=f"write to {topic!r}")
    return left
