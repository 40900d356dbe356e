"""End markers: the control batch that commits or aborts a producer's transaction in one partition.

    key     := version (int16 = 0) type (int16: 0 abort, 1 commit)
    value   := version (int16 = 0) coordinator_epoch (int32)
    headers := "first-offset" (int64) "last-stable-offset" (int64)      where the transaction has records

Key and value are Kafka's; clients look at the key only. The headers are ours: a marker says by itself which
records it ends, so the index of aborted transactions can be made anew from the segment alone.
"""

import struct
from typing import Final, NamedTuple

from headwater.errors import Corruption
from headwater.wire.record_batch import CONTROL, TRANSACTIONAL, ProducerIdAndEpoch
from headwater.wire.records import Header, OwnBatch, batch_of, decode_batch, encode_record

FIRST_OFFSET: Final = "first-offset"
LAST_STABLE_OFFSET: Final = "last-stable-offset"
_KEY: Final = struct.Struct(">hh")
_VALUE: Final = struct.Struct(">hi")
_OFFSET: Final = struct.Struct(">q")
_ABORT: Final = 0
_COMMIT: Final = 1


class EndedRecords(NamedTuple):
    """The records of one partition that a marker ends."""

    first_offset: int
    last_stable_offset: int
    """Once the marker is written, every transaction that began before this offset has ended."""


class EndMarker(NamedTuple):
    """How a transaction ends in a partition."""

    is_commit: bool
    coordinator_epoch: int = 0
    ended: EndedRecords | None = None
    """None if the transaction has no records in this partition."""


def encode_marker(marker: EndMarker, producer: ProducerIdAndEpoch, timestamp_ms: int) -> OwnBatch:
    """Write a marker as one batch, at base offset 0."""
    headers: list[Header] = []
    if marker.ended is not None:
        headers = [
            (FIRST_OFFSET, _OFFSET.pack(marker.ended.first_offset)),
            (LAST_STABLE_OFFSET, _OFFSET.pack(marker.ended.last_stable_offset)),
        ]
    key = _KEY.pack(0, _COMMIT if marker.is_commit else _ABORT)
    value = _VALUE.pack(0, marker.coordinator_epoch)
    return batch_of(
        [encode_record(0, 0, key, value, headers)],
        timestamp_ms,
        attributes=TRANSACTIONAL | CONTROL,
        producer=producer,
    )


def decode_marker(batch: memoryview) -> EndMarker | None:
    """Read one whole control batch (checked before); None if it ends no transaction."""
    records = decode_batch(batch)
    if not records:
        return None  # Compaction keeps an empty batch where it must remember the producer.
    try:
        _, kind = _KEY.unpack_from(records[0].key or b"")
        if kind not in (_ABORT, _COMMIT):
            return None
        _, coordinator_epoch = _VALUE.unpack_from(records[0].value or b"")
        headers = dict(records[0].headers)
        ended = None
        if FIRST_OFFSET in headers:
            (first,) = _OFFSET.unpack(headers[FIRST_OFFSET] or b"")
            (stable,) = _OFFSET.unpack(headers[LAST_STABLE_OFFSET] or b"")
            ended = EndedRecords(first, stable)
    except (struct.error, KeyError) as error:
        raise Corruption(f"unreadable end marker at offset {records[0].offset}") from error
    return EndMarker(kind == _COMMIT, coordinator_epoch, ended)
