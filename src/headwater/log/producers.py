"""What a partition knows of its idempotent producers: the last five batches of each.

A retried batch is recognised by its sequence numbers and answered with the offset it already has. The
state is written to `<offset>.snapshot` when a segment is sealed and at a clean shutdown, so that it
survives restarts; what came after is replayed from batch headers.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from headwater.errors import Corruption, Fenced, OutOfOrderSequence
from headwater.log import checksummed
from headwater.wire.record_batch import NO_SEQUENCE, BatchHeader

MAGIC: Final = b"HWPS"
REMEMBERED_BATCHES: Final = 5
LARGEST_SEQUENCE: Final = 2**31 - 1

_PRODUCER = struct.Struct(">qhqB")
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
    seen_s: float = field(default=0.0, compare=False)
    """When it was last heard of, on the monotonic clock: its own timestamps may be of any age."""


class Producers:
    """All producers of one partition; changed only by the partition that owns it."""

    def __init__(self) -> None:
        self._states: dict[int, ProducerState] = {}

    def __len__(self) -> int:
        return len(self._states)

    def __iter__(self) -> Iterator[tuple[int, ProducerState]]:
        return iter(self._states.items())

    def check(self, header: BatchHeader) -> StoredBatch | None:
        """Return the stored batch that this one repeats, or None if it may be appended.

        Raises `Fenced` for an old epoch and `OutOfOrderSequence` for a gap.
        """
        state = self._states.get(header.producer_id)
        if state is None:
            return None
        if header.producer_epoch < state.epoch:
            raise Fenced(
                f"producer {header.producer_id} has epoch {state.epoch}, "
                f"so a batch of epoch {header.producer_epoch} is refused"
            )
        if header.base_sequence == NO_SEQUENCE:
            return None
        if header.producer_epoch > state.epoch:
            if header.base_sequence != 0:
                raise OutOfOrderSequence(
                    f"a new epoch starts at sequence 0, not {header.base_sequence}"
                )
            return None
        last_sequence = last_sequence_of(header)
        for stored in state.batches:
            if (stored.first_sequence, stored.last_sequence) == (
                header.base_sequence,
                last_sequence,
            ):
                return stored
        if state.batches:
            expected = next_sequence(state.batches[-1].last_sequence)
            if header.base_sequence != expected:
                raise OutOfOrderSequence(
                    f"producer {header.producer_id} sent sequence {header.base_sequence} "
                    f"where {expected} was due"
                )
        return None

    def note(self, header: BatchHeader, base_offset: int, now_s: float = 0.0) -> None:
        """Learn of a batch that was appended at `base_offset`."""
        state = self._states.get(header.producer_id)
        if state is None or state.epoch != header.producer_epoch:
            state = ProducerState(header.producer_epoch, header.max_timestamp)
            self._states[header.producer_id] = state
        state.last_timestamp = header.max_timestamp
        state.seen_s = now_s
        if header.base_sequence != NO_SEQUENCE:
            last_offset = base_offset + header.last_offset_delta
            stored = StoredBatch(
                header.base_sequence, last_sequence_of(header), base_offset, last_offset
            )
            state.batches = [*state.batches[1 - REMEMBERED_BATCHES :], stored]

    def loaded(self, now_s: float) -> None:
        """From now on the producers that were found have their full time to be heard from again."""
        for state in self._states.values():
            state.seen_s = now_s

    def expire(self, before_s: float) -> None:
        """Forget producers that have not been heard from since `before_s`, on the monotonic clock."""
        self._states = {
            each: state for each, state in self._states.items() if state.seen_s >= before_s
        }

    def last_offsets(self) -> dict[int, int]:
        """Return, for each producer, the offset of its last record: compaction keeps that batch."""
        return {
            each: state.batches[-1].last_offset
            for each, state in self._states.items()
            if state.batches
        }

    def encode(self) -> bytes:
        parts = []
        for producer_id, state in self._states.items():
            head = (producer_id, state.epoch, state.last_timestamp, len(state.batches))
            parts.append(_PRODUCER.pack(*head))
            parts += [_BATCH.pack(*each) for each in state.batches]
        return checksummed.wrap(MAGIC, b"".join(parts))

    @classmethod
    def decode(cls, data: bytes) -> "Producers":
        """Read a snapshot; raises `Corruption`."""
        payload = checksummed.unwrap(MAGIC, data)
        producers = cls()
        position = 0
        try:
            while position < len(payload):
                producer_id, epoch, timestamp, count = _PRODUCER.unpack_from(payload, position)
                position += _PRODUCER.size
                batches = []
                for _ in range(count):
                    batches.append(StoredBatch._make(_BATCH.unpack_from(payload, position)))
                    position += _BATCH.size
                producers._states[producer_id] = ProducerState(epoch, timestamp, batches)
        except struct.error as error:
            raise Corruption("a producer snapshot ends inside an entry") from error
        return producers


def last_sequence_of(header: BatchHeader) -> int:
    """Sequences wrap from 2^31-1 to 0, also inside a batch."""
    return (header.base_sequence + header.last_offset_delta) & LARGEST_SEQUENCE


def next_sequence(sequence: int) -> int:
    return (sequence + 1) & LARGEST_SEQUENCE
