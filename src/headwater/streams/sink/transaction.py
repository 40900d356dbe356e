"""Transactions of one writer: whole Arrow batches to librdkafka, and the marker with the last of them."""

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self

import confluent_kafka
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from headwater.client.connection import PRODUCING, Connection
from headwater.client.kafka_errors import error_of, translate, translated
from headwater.errors import HeadwaterError
from headwater.streams.log_access import LogAccess
from headwater.streams.sink.marker import Marker, Writer

CALL_TIMEOUT_S: Final = 60.0
BATCH_ROWS: Final = 10_000
MOST_RECORDS: Final = 200_000
MOST_BYTES: Final = 256 << 20
"""What librdkafka may hold before we wait: memory is bounded, and its own queue is never full."""

_POLL_S: Final = 0.05
_SETTINGS: Final[Mapping[str, Any]] = {
    "linger.ms": 5,
    "batch.num.messages": 100_000,
    "queue.buffering.max.messages": 2 * MOST_RECORDS,
    "queue.buffering.max.kbytes": 2_097_151,
    # The topic decides what is too large, not the client.
    "message.max.bytes": 100_000_000,
    # A call into Python for each record that was stored would cost more than sending it.
    "delivery.report.only.error": True,
    "transaction.timeout.ms": 300_000,
}


class Transactions:
    """A writer's producer. There is one at a time: a newer one of the same name fences this one."""

    def __init__(self, log: LogAccess, writer: Writer) -> None:
        connection = Connection(log.address, CALL_TIMEOUT_S, dict(log.security))
        self._group = confluent_kafka.Consumer(
            connection.settings({"group.id": writer.name})
        ).consumer_group_metadata()
        settings = connection.settings(PRODUCING, _SETTINGS, log.kafka)
        settings["transactional.id"] = writer.name
        self.timeout_s = float(settings["transaction.timeout.ms"]) / 1000
        self._name = writer.name
        self._began_s: float | None = None
        self._failure: HeadwaterError | None = None
        try:
            self._kafka = confluent_kafka.Producer(settings)
        except KafkaException as error:
            raise error_of(error, doing="write with these kafka.* options") from error
        self._call("take over from earlier attempts", self._kafka.init_transactions)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Take back what was not committed."""
        if self._began_s is not None:
            self._kafka.purge()
            try:
                self._kafka.abort_transaction(CALL_TIMEOUT_S)
            except KafkaException as failed:
                # Who comes next, or the broker's timeout, will do it.
                if error is not None:
                    error.add_note(f"and the transaction could not be aborted: {failed}")

    @property
    def age_s(self) -> float:
        """How long the open transaction is open."""
        return 0.0 if self._began_s is None else time.monotonic() - self._began_s

    def write(self, records: pa.RecordBatch) -> None:
        """Queue records in the form of `records.COLUMNS`, in the open transaction or a new one."""
        self._begin()
        room = _room(records)
        for topic, of_topic in _by_topic(records):
            for start in range(0, of_topic.num_rows, BATCH_ROWS):
                self._produce(topic, of_topic.slice(start, BATCH_ROWS))
                self._wait_for_room(room)

    def commit(self, marker: Marker, topic: str) -> None:
        """Make all that was written visible, and the marker with it (an offset of any topic there is)."""
        self._begin()
        self._wait_for_room(0)
        offset = TopicPartition(topic, 0, marker.next_batch, marker.metadata())
        self._call(
            "mark what was written",
            lambda timeout_s: self._kafka.send_offsets_to_transaction(
                [offset], self._group, timeout_s
            ),
        )
        self._call("commit what was written", self._kafka.commit_transaction)
        self._began_s = None

    def _begin(self) -> None:
        if self._began_s is None:
            with translated(f"begin a transaction ({self._name})"):
                self._kafka.begin_transaction()
            self._began_s = time.monotonic()

    def _produce(self, topic: str, records: pa.RecordBatch) -> None:
        if records["headers"].null_count == records.num_rows:
            messages = _messages(records)
            if self._kafka.produce_batch(topic, messages, on_delivery=self._note) < len(messages):
                refused = next(each["_error"] for each in messages if "_error" in each)
                raise translate(refused, doing=f"write to {topic!r}")
            return
        for message, headers in zip(
            _messages(records), records["headers"].to_pylist(), strict=True
        ):
            pairs = [(each["key"], each["value"]) for each in headers or ()]
            try:
                self._kafka.produce(topic, headers=pairs, on_delivery=self._note, **message)
            except KafkaException as error:
                raise error_of(error, doing=f"write to {topic!r}") from error

    def _note(self, error: KafkaError | None, message: Any) -> None:
        if error is not None and self._failure is None:
            self._failure = translate(error, doing=f"write to {message.topic()!r}")

    def _wait_for_room(self, room: int) -> None:
        """Wait until at most `room` records are under way; raises the first failure of any."""
        with translated(f"write ({self._name})"):
            self._kafka.poll(0)
            while len(self._kafka) > room and self._failure is None:
                self._kafka.poll(_POLL_S)
        if self._failure is not None:
            raise self._failure

    def _call(self, doing: str, function: Callable[[float], None]) -> None:
        """Call into librdkafka until it is done; what may pass is tried again for a while."""
        deadline_s = time.monotonic() + CALL_TIMEOUT_S
        while True:
            try:
                function(max(0.1, deadline_s - time.monotonic()))
            except KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > deadline_s:
                    raise error_of(error, doing=f"{doing} ({self._name})") from error
                time.sleep(_POLL_S)
            else:
                return


def _messages(records: pa.RecordBatch) -> list[dict[str, Any]]:
    """Arguments of `produce`, by record; only columns that say something."""
    columns: dict[str, list[Any]] = {
        name: records[name].to_pylist()
        for name in ("value", "key")
        if records[name].null_count < records.num_rows
    }
    if records["partition"].null_count < records.num_rows:
        columns["partition"] = records["partition"].fill_null(-1).to_pylist()
    if records["timestamp"].null_count < records.num_rows:
        time_ms = pc.divide(records["timestamp"].cast(pa.int64()), 1000)
        columns["timestamp"] = time_ms.fill_null(0).to_pylist()
    if not columns:
        return [{} for _ in range(records.num_rows)]
    names = list(columns)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _by_topic(records: pa.RecordBatch) -> list[tuple[str, pa.RecordBatch]]:
    topics = records["topic"].unique().to_pylist()
    if len(topics) == 1:
        return [(topics[0], records)]
    return [(each, records.filter(pc.equal(records["topic"], each))) for each in topics]


def _room(records: pa.RecordBatch) -> int:
    """How many records of this size may be under way."""
    size: int = max(1, records.nbytes // max(1, records.num_rows))
    return max(1, min(MOST_RECORDS, MOST_BYTES // size) - BATCH_ROWS)
