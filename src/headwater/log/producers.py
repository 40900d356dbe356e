"""What a partition knows of its idempotent producers: the last five batches of each, and open transactions.

A retried batch is recognised by its sequence numbers and answered with the offset it already has. The
state is written to `<offset>.snapshot` when a segment is sealed and at a clean shutdown, so that it
survives restarts; what came after is replayed from batch headers and end markers.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from headwater.errors import (
    CoordinatorFenced,
    Corruption,
    Fenced,
    InvalidTransaction,
    OutOfOrderSequence,
)
from headwater.log import checksummed
from headwater.log.open_transactions import OpenTransactions, Uncertain
from headwater.wire.markers import EndMarker
from headwater.wire.record_batch import NO_SEQUENCE, BatchHeader, ProducerIdAndEpoch

MAGIC: Final = b"HWPS"
REMEMBERED_BATCHES: Final = 5
LARGEST_SEQUENCE: Final = 2**31 - 1
LARGEST_EPOCH: Final = 2**15 - 1
NO_OFFSET: Final = -1
VERSION: Final = 2
BUMPS_EPOCHS: Final = 2
"""The transaction version from which each transaction has an epoch of its own (KIP-890)."""

_COUNT = struct.Struct(">i")
_UNCERTAIN = struct.Struct(">qq")
_PRODUCER = struct.Struct(">qhqiqB")
_BATCH = struct.Struct(">iiqq")


class StoredBatch(NamedTuple):
    """One batch that is in the log."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int


@dataclass(slots=True)
class ProducerState:
    """One producer in one partition."""

    epoch: int
    last_timestamp: int
    batches: list[StoredBatch] = field(default_factory=list)
    coordinator_epoch: int = -1
    """Of the coordinator that ended its last transaction here."""
    seen_s: float = field(default=0.0, compare=False)
    """When it was last heard of, on the monotonic clock: its own timestamps may be of any age."""


class Producers:
    """All producers of one partition; changed only by the partition that owns it."""

    def __init__(self) -> None:
        self._states: dict[int, ProducerState] = {}
        self.transactions = OpenTransactions()

    def __len__(self) -> int:
        return len(self._states)

    def __iter__(self) -> Iterator[tuple[int, ProducerState]]:
        return iter(self._states.items())

    def check(self, header: BatchHeader, transaction_version: int = 0) -> StoredBatch | None:
        """Return the stored batch that this one repeats, or None if it may be appended.

        Raises `Fenced` for an old epoch, `OutOfOrderSequence` for a gap, and `InvalidTransaction` for a
        batch outside of the producer's open transaction.
        """
        state = self._states.get(header.producer_id)
        if state is None:
            # An epoch that begins with its transaction begins at sequence 0 everywhere.
            if transaction_version >= BUMPS_EPOCHS and header.base_sequence > 0:
                raise _out_of_order(header, 0)
            return None
        if header.producer_epoch < state.epoch:
            raise Fenced(
                f"producer {header.producer_id} has epoch {state.epoch}, "
                f"so a batch of epoch {header.producer_epoch} is refused"
            )
        if header.base_sequence == NO_SEQUENCE:
            return None
        if (stored := _repeated(header, state)) is not None:
            return stored
        is_known_epoch = header.producer_epoch == state.epoch and bool(state.batches)
        expected = next_sequence(state.batches[-1].last_sequence) if is_known_epoch else 0
        if header.base_sequence != expected:
            raise _out_of_order(header, expected)
        if header.producer_id in self.transactions and not header.is_transactional:
            raise InvalidTransaction(
                f"producer {header.producer_id} has an open transaction, this batch is not part of it"
            )
        return None

    def check_end(
        self, producer: ProducerIdAndEpoch, coordinator_epoch: int, transaction_version: int
    ) -> None:
        """Raise `Fenced` or `CoordinatorFenced` for an end marker that comes too late.

        Since version 2 a marker has an epoch of its own, above that of the records it ends; the same
        epoch again is the same marker again.
        """
        state = self._states.get(producer.id)
        if state is None:
            return
        is_repeated = producer.id not in self.transactions or producer.epoch == LARGEST_EPOCH
        lowest = state.epoch
        if transaction_version >= BUMPS_EPOCHS and not is_repeated:
            lowest += 1
        if producer.epoch < lowest:
            raise Fenced(
                f"producer {producer.id} has epoch {state.epoch}, "
                f"so an end marker of epoch {producer.epoch} is refused"
            )
        if coordinator_epoch < state.coordinator_epoch:
            raise CoordinatorFenced(
                f"the transactions of producer {producer.id} are coordinated in epoch "
                f"{state.coordinator_epoch}, not {coordinator_epoch}"
            )

    def note(self, header: BatchHeader, base_offset: int, now_s: float = 0.0) -> None:
        """Learn of a batch of records that was appended at `base_offset`."""
        known = self._states.get(header.producer_id)
        if known is not None and known.epoch < header.producer_epoch:
            # A newer epoch writes only when the transaction of the old one has ended.
            self.transactions.lose(header.producer_id, base_offset)
        state = self._state_for(header, now_s)
        if header.is_transactional:
            self.transactions.begin(header.producer_id, base_offset)
        if header.base_sequence != NO_SEQUENCE:
            last_offset = base_offset + header.last_offset_delta
            stored = StoredBatch(
                header.base_sequence, last_sequence_of(header), base_offset, last_offset
            )
            state.batches = [*state.batches[1 - REMEMBERED_BATCHES :], stored]

    def end(self, header: BatchHeader, marker: EndMarker, now_s: float = 0.0) -> None:
        """Learn of an end marker that was appended."""
        self._state_for(header, now_s).coordinator_epoch = marker.coordinator_epoch
        first_offset = None if marker.ended is None else marker.ended.first_offset
        self.transactions.end(header.producer_id, header.base_offset, first_offset)

    def _state_for(self, header: BatchHeader, now_s: float) -> ProducerState:
        """Return the state of the batch's producer in the batch's epoch, which may be a new one."""
        state = self._states.get(header.producer_id)
        if state is None or state.epoch != header.producer_epoch:
            known = -1 if state is None else state.coordinator_epoch
            state = ProducerState(
                header.producer_epoch, header.max_timestamp, coordinator_epoch=known
            )
            self._states[header.producer_id] = state
        state.last_timestamp = header.max_timestamp
        state.seen_s = now_s
        return state

    def loaded(self, now_s: float) -> None:
        """From now on the producers that were found have their full time to be heard from again."""
        for state in self._states.values():
            state.seen_s = now_s

    def expire(self, before_s: float) -> None:
        """Forget producers that have not been heard from since `before_s`, on the monotonic clock."""
        self._states = {
            each: state
            for each, state in self._states.items()
            if state.seen_s >= before_s or each in self.transactions
        }

    def last_offsets(self) -> dict[int, int]:
        """Return, for each producer, the offset of its last record: compaction keeps that batch."""
        return {
            each: state.batches[-1].last_offset
            for each, state in self._states.items()
            if state.batches
        }

    def marker_epochs(self) -> dict[int, int]:
        """Return the epoch of each producer of which only an end marker is left: compaction keeps it."""
        return {each: state.epoch for each, state in self._states.items() if not state.batches}

    def encode(self) -> bytes:
        uncertain = self.transactions.uncertain
        parts = [_COUNT.pack(len(uncertain)), *(_UNCERTAIN.pack(*each) for each in uncertain)]
        for producer_id, state in self._states.items():
            first_offset = self.transactions.first_offset_of(producer_id)
            parts.append(
                _PRODUCER.pack(
                    producer_id,
                    state.epoch,
                    state.last_timestamp,
                    state.coordinator_epoch,
                    NO_OFFSET if first_offset is None else first_offset,
                    len(state.batches),
                )
            )
            parts += [_BATCH.pack(*each) for each in state.batches]
        return checksummed.wrap(MAGIC, b"".join(parts), VERSION)

    @classmethod
    def decode(cls, data: bytes) -> "Producers":
        """Read a snapshot; raises `Corruption`."""
        payload = checksummed.unwrap(MAGIC, data, VERSION)
        producers = cls()
        open_transactions: list[tuple[int, int]] = []
        try:
            (uncertain_count,) = _COUNT.unpack_from(payload)
            position = _COUNT.size
            for _ in range(uncertain_count):
                uncertain = Uncertain._make(_UNCERTAIN.unpack_from(payload, position))
                producers.transactions.uncertain.append(uncertain)
                position += _UNCERTAIN.size
            while position < len(payload):
                producer_id, epoch, timestamp, coordinator_epoch, first_offset, count = (
                    _PRODUCER.unpack_from(payload, position)
                )
                position += _PRODUCER.size
                batches = []
                for _ in range(count):
                    batches.append(StoredBatch._make(_BATCH.unpack_from(payload, position)))
                    position += _BATCH.size
                producers._states[producer_id] = ProducerState(
                    epoch, timestamp, batches, coordinator_epoch
                )
                if first_offset != NO_OFFSET:
                    open_transactions.append((first_offset, producer_id))
        except struct.error as error:
            raise Corruption("a producer snapshot ends inside an entry") from error
        for first_offset, producer_id in sorted(open_transactions):
            producers.transactions.begin(producer_id, first_offset)
        return producers


def _repeated(header: BatchHeader, state: ProducerState) -> StoredBatch | None:
    if header.producer_epoch != state.epoch:
        return None
    sequences = (header.base_sequence, last_sequence_of(header))
    for stored in state.batches:
        if (stored.first_sequence, stored.last_sequence) == sequences:
            return stored
    return None


def _out_of_order(header: BatchHeader, expected: int) -> OutOfOrderSequence:
    return OutOfOrderSequence(
        f"producer {header.producer_id} sent sequence {header.base_sequence} "
        f"where {expected} was due"
    )


def last_sequence_of(header: BatchHeader) -> int:
    """Sequences wrap from 2^31-1 to 0, also inside a batch."""
    return (header.base_sequence + header.last_offset_delta) & LARGEST_SEQUENCE


def next_sequence(sequence: int) -> int:
    return (sequence + 1) & LARGEST_SEQUENCE
