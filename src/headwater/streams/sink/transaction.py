"""Transactions of one writer: its rows, and the marker that tells of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final, Self

import pyarrow as pa
import pyarrow.compute as pc

from headwater.bulk.group_offsets import Committed
from headwater.bulk.ranges import TopicPartition
from headwater.bulk.transactional_producer import TransactionalProducer
from headwater.clock import Clock, SystemClock
from headwater.errors import Fenced, HeadwaterError, InvalidRequest, Unavailable
from headwater.streams.log_access import LogAccess
from headwater.streams.sink.marker import Marker, Writer
from headwater.wire.compression import NAMES

COMPRESSION: Final = "compression.type"
TIMEOUT: Final = "transaction.timeout.ms"
_DEFAULT_TIMEOUT_MS: Final = "300000"
_CODECS: Final = {name: codec for codec, name in NAMES.items()}


class Transactions:
    """A writer's producer. There is one at a time: a newer one of the same name fences this one."""

    def __init__(self, log: LogAccess, writer: Writer, clock: Clock | None = None) -> None:
        timeout_ms = _timeout_ms(log)
        self.timeout_s = timeout_ms / 1000
        self._name = writer.name
        self._began_s: float | None = None
        self._clock = clock or SystemClock()
        self.cluster = log.cluster()
        self._producer = TransactionalProducer(self.cluster, writer.name, timeout_ms, _codec(log))

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
            try:
                self._producer.abort()
            except HeadwaterError as failed:
                # Who comes next, or the broker's timeout, will do it.
                if error is not None:
                    error.add_note(f"and the transaction could not be aborted: {failed}")
        self.cluster.close()

    @property
    def age_s(self) -> float:
        """How long the open transaction is open."""
        return 0.0 if self._began_s is None else self._clock.monotonic_s() - self._began_s

    def write(self, records: pa.RecordBatch) -> None:
        """Send records in the form of `records.COLUMNS`, in the open transaction or a new one."""
        self._begin()
        with self._explained():
            for topic, of_topic in _by_topic(records):
                self._producer.write(topic, of_topic, self._clock.now_ms())

    def commit(self, marker: Marker, topic: str) -> None:
        """Make all that was written visible, and the marker with it (an offset of any topic there is)."""
        self._begin()
        place = TopicPartition(topic, 0)
        committed = Committed(marker.next_batch, marker.metadata())
        with self._explained():
            self._producer.commit_offset(self._name, place, committed)
            self._producer.commit()
        self._began_s = None

    def _begin(self) -> None:
        if self._began_s is None:
            self._began_s = self._clock.monotonic_s()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """To the broker, a transaction that it has aborted for its age is one that was taken over."""
        try:
            yield
        except Fenced as error:
            if self.age_s <= self.timeout_s:
                raise
            raise Unavailable(
                f"the transaction of {self._name} was open for {self.age_s:.0f} s, longer than "
                f"{TIMEOUT} allows ({self.timeout_s:.0f} s), and the broker has aborted it",
                hint=f"rows came too slowly, or the process slept; if always, set kafka.{TIMEOUT}",
            ) from error


def _timeout_ms(log: LogAccess) -> int:
    given = log.kafka.get(TIMEOUT, _DEFAULT_TIMEOUT_MS)
    if not given.isdecimal() or not int(given):
        raise InvalidRequest(f"option kafka.{TIMEOUT} must be a number above zero, not {given!r}")
    return int(given)


def _codec(log: LogAccess) -> int:
    given = log.kafka.get(COMPRESSION, "none")
    if given not in _CODECS:
        raise InvalidRequest(
            f"option kafka.{COMPRESSION} cannot be {given!r}",
            hint=f"it is one of {', '.join(_CODECS)}",
        )
    return _CODECS[given]


def _by_topic(records: pa.RecordBatch) -> list[tuple[str, pa.RecordBatch]]:
    topics = records["topic"].unique().to_pylist()
    if len(topics) == 1:
        return [(topics[0], records)]
    return [(each, records.filter(pc.equal(records["topic"], each))) for each in topics]
