"""Reading records: at least once, in order per partition, with the position kept by the group.

Invariant: the position of a record is stored only after its body has returned: when its loop asks for
the next one. A loop that is left in the middle, by `break` or by an exception, leaves its record
unfinished, for the two look the same from here; `commit()` before the `break` finishes it.
"""

from collections import deque
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

import confluent_kafka
from confluent_kafka import KafkaError

from headwater.client.admin.groups import Groups
from headwater.client.assignment import Assignment, Reading, partition_of
from headwater.client.connection import CONSUMING, Connection, Options
from headwater.client.decoder import Decoder
from headwater.client.kafka_errors import translated
from headwater.client.local_time import local_now
from headwater.client.log_offsets import LogOffsets
from headwater.client.offset_range import Position, parse_position
from headwater.client.read_bounds import Partition
from headwater.client.read_trouble import ReadTrouble
from headwater.client.record import Record
from headwater.client.shares import Shares
from headwater.client.value_format import value_format
from headwater.clock import Clock, SystemClock
from headwater.errors import HeadwaterError, InvalidRequest

_POLL_S = 0.2
_AT_ONCE = 500
_AT_MOST = 1_000_000
"""What librdkafka hands over in one call."""
_ANSWER_S = 1.0
"""How often the group is answered, also while there is enough at hand: who does not is expelled."""
_GROUPLESS = "headwater-reader"


class Consumer:
    """Iterate it for records, or `batches()` for lists of them; one thread at a time.

    With a group, partitions are shared with its other members and positions are kept. Without one,
    every partition is read and nothing is stored.

    A record is finished when its loop asks for the next one, or by `commit()`. A loop that ends before
    that (`break`, `return`, an exception, caught or not) leaves it unfinished: the next loop begins with
    it, and so does the group's next member. What came from `next()` or `poll()` instead is finished when
    more is asked for, or when the with-block ends without an exception.
    """

    def __init__(
        self,
        connection: Connection,
        reading: Reading,
        log: LogOffsets,
        groups: Groups,
        *,
        options: Options | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._reading = reading
        self._clock = clock or SystemClock()
        self._decoder = Decoder(value_format(reading.value_format), reading.on_bad)
        self._unfinished: list[Any] = []
        self._is_in_body = False
        """Whether a loop holds what is unfinished: then only the loop, or `commit()`, can finish it."""
        self._ahead: deque[Any] = deque()
        self._batch: list[Record] = []
        """Read but not handed out yet: a partition that is revoked meanwhile takes its records along."""
        self._is_called_off = False
        """Set from outside: nobody waits for the batch that is being read, so it ends with what it has."""
        self._answered_s = self._clock.monotonic_s()
        timeout_s = connection.timeout_s
        self._trouble = ReadTrouble(reading.doing, reading.group, log, timeout_s, self._clock)
        self.is_closed = False
        group = {
            "group.id": reading.group or _GROUPLESS,
            "enable.auto.commit": reading.group is not None,
            "error_cb": self._trouble.note,
        }
        with translated("create a consumer"):
            self._kafka = confluent_kafka.Consumer(
                connection.settings(CONSUMING, group, options or {})
            )
        member = self._kafka.memberid
        self._shares = reading.group and Shares(reading.group, member, reading.offsets, groups, log)
        self._assignment = Assignment(self._kafka, reading, log, timeout_s, self._forget)
        try:
            self._assignment.begin()
        except BaseException:
            self._kafka.close()
            raise

    @property
    def is_bounded(self) -> bool:
        """Whether there is an end to read to."""
        return self._reading.offsets.until is not None

    @property
    def assignment(self) -> frozenset[Partition]:
        """The (topic, partition) pairs that this consumer reads now."""
        return self._assignment.bounds.assigned

    def __iter__(self) -> Iterator[Record]:
        """A loop; it begins with the record that the loop before left unfinished."""
        self._take_back()
        return self._loop()

    def __next__(self) -> Record:
        """The next record; asking for it says that the one before is finished."""
        record = self._next()
        if record is None:
            raise StopIteration
        return record

    def batches(self, max_records: int = 500, max_wait_s: float = 1.0) -> Iterator[list[Record]]:
        """Lists of at most `max_records`, never empty; finished when the next one is asked for."""
        _refuse_to_read_nothing(max_records)
        self._take_back()
        while True:
            batch = self.poll(max_records, max_wait_s)
            if batch:
                self._is_in_body = True
                yield batch
            elif self._has_ended():
                return

    def poll(self, max_records: int = 500, max_wait_s: float = 1.0) -> list[Record]:
        """What comes within `max_wait_s`, maybe nothing; finished when more is asked for."""
        _refuse_to_read_nothing(max_records)
        self._ask_for_more()
        self._batch = []
        try:
            self._fill_batch(max_records, self._clock.monotonic_s() + max_wait_s)
        except BaseException:
            self._put_back()  # nobody got them
            raise
        return self._batch

    def seek(
        self, to: str | int | Position, *, topic: str | None = None, partition: int | None = None
    ) -> None:
        """Read on from another position, in every assigned partition or in the one named.

        `to` is written as `start=` is: "start", "end", 47, "+2", -3 (before the end), "@-15m".
        """
        self._refuse_if_closed()
        if not isinstance(to, Position):
            to = parse_position(str(to), now=local_now(self._clock))
        self._forget_read(self._assignment.seek(to, topic, partition))

    def commit(self) -> None:
        """Say in the middle of a body that the record is finished, and store that now."""
        self._refuse_if_closed()
        self._finish()
        self._assignment.commit()

    def close(self) -> None:
        """Leave the group; what is unfinished will be read again."""
        if self.is_closed:
            return
        self.is_closed = True
        try:
            self._assignment.commit()
        finally:
            self._assignment.leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if error is None and not self._is_in_body:
                self._finish()
            self.close()
        except HeadwaterError as uncommitted:
            if error is None:
                raise
            error.add_note(f"and while leaving: {uncommitted}")

    def _loop(self) -> Iterator[Record]:
        while (record := self._next()) is not None:
            self._is_in_body = True
            yield record

    def _next(self) -> Record | None:
        self._ask_for_more()
        while True:
            record = self._read_ahead()
            if record is not None:
                return record
            if self._has_ended():
                return None
            self._wait_for_message()

    def _ask_for_more(self) -> None:
        """Finish what was handed out, and stay a member while there is enough at hand."""
        self._refuse_if_closed()
        self._finish()
        if self._is_answer_due():
            self._answer()

    def _is_answer_due(self) -> bool:
        return bool(self._ahead) and self._clock.monotonic_s() - self._answered_s > _ANSWER_S

    def _answer(self) -> None:
        """Let librdkafka answer the group; a partition that is revoked takes what was read of it along."""
        self._wait_for_message(0)

    def _fill_batch(self, max_records: int, deadline_s: float) -> None:
        while len(self._batch) < max_records and not self._is_called_off and not self._has_ended():
            if not self._ahead:
                wait_s = min(deadline_s - self._clock.monotonic_s(), _POLL_S)
                if wait_s <= 0:
                    return
                self._take_along(min(max_records - len(self._batch), _AT_MOST), wait_s)
                continue
            try:
                record = self._read_ahead()
            except Exception:
                if self._batch:
                    return  # the good ones first; the same error is raised for the next batch
                raise
            if record is not None:
                self._batch.append(record)

    def _wait_for_message(self, wait_s: float = _POLL_S) -> bool:
        """Whether one came; not for long, so that an end or an interruption is noticed."""
        self._answered_s = self._clock.monotonic_s()
        with translated(self._reading.doing):
            message = self._kafka.poll(wait_s)
        if message is not None:
            self._ahead.append(message)
        return message is not None

    def _fill(self) -> None:
        """Wait for a message, and take along what else is there."""
        if self._wait_for_message():
            self._take_along(_AT_ONCE, 0)

    def _take_along(self, max_messages: int, wait_s: float) -> None:
        self._answered_s = self._clock.monotonic_s()
        with translated(self._reading.doing):
            read = self._kafka.consume(max_messages, wait_s)
        # Only now: a partition revoked meanwhile has put another queue in its place.
        self._ahead.extend(read)

    def _refuse_if_closed(self) -> None:
        if self.is_closed:
            raise InvalidRequest(what="the consumer is closed", hint="read inside its with-block")

    def _take_back(self) -> None:
        """Put what a loop left unfinished before what comes next."""
        if self._is_in_body:
            self._put_back()

    def _put_back(self) -> None:
        self._ahead.extendleft(reversed(self._unfinished))
        self._unfinished = []
        self._is_in_body = False

    def _read_ahead(self) -> Record | None:
        """The next wanted record among the messages at hand.

        A message leaves the queue only once it is handed out or handled, so an error met here is
        met again by the next call, and the position stays before it.
        """
        while self._ahead:
            message = self._ahead[0]
            record = self._take(message)
            self._ahead.popleft()
            if record is not None:
                self._unfinished.append(message)
                return record
        return None

    def _take(self, message: Any) -> Record | None:
        partition = partition_of(message)
        error = message.error()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001
            self._trouble.take(message)
            return None
        self._trouble.note_answer()
        if error is not None:
            self._assignment.bounds.reach(partition, message.offset())
            return None
        if not self._assignment.bounds.wants(partition, message.offset()):
            return None
        record = self._decoder.decode(message)
        self._assignment.bounds.reach(partition, message.offset() + 1)
        if record is None:
            self._unfinished.append(message)  # skipped or handled: the position moves over it
        return record

    def _has_ended(self) -> bool:
        """Whether a bounded read is complete; it does not outwait a broker that is gone.

        A read without an end does: it goes on when the broker is back.
        """
        if not self.is_bounded or self._ahead:
            return False
        if self._assignment.is_done:
            return not self._shares or self._shares.are_settled(self._assignment.others())
        self._trouble.raise_if_gone_for_long()
        return False

    def _finish(self) -> None:
        """Store the position behind every record handed out so far."""
        finished, self._unfinished = self._unfinished, []
        self._is_in_body = False
        self._assignment.store(finished)

    def _forget(self, gone: set[Partition]) -> None:
        """Partitions were given away: nothing of them is handed out any more."""
        self._forget_read(gone)
        self._batch = [r for r in self._batch if (r.topic, r.partition) not in gone]

    def _forget_read(self, gone: set[Partition]) -> None:
        self._unfinished = [m for m in self._unfinished if partition_of(m) not in gone]
        self._ahead = deque(m for m in self._ahead if partition_of(m) not in gone)


def _refuse_to_read_nothing(max_records: int) -> None:
    if max_records < 1:
        raise InvalidRequest(
            what=f"max_records is {max_records}, so there would never be a record",
            hint="ask for one or more",
        )
