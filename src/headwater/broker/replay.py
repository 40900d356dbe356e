"""Read a whole log: how the broker's own state comes back at start."""

from collections.abc import Iterator

from headwater.errors import Corruption
from headwater.log.partition import PartitionLog
from headwater.wire.record_batch import BatchHeader, iterate_headers, next_offset_after
from headwater.wire.records import Record, decode_batch

CHUNK_BYTES = 4 << 20


def replay(log: PartitionLog, *, past_damage: bool = False) -> Iterator[Record]:
    """Yield every record from the start to the high watermark, committed or not, without markers.

    Raises `Corruption` at damage; with `past_damage` it is logged (by `read`), and the rest follows.
    """
    for header, batch in replay_batches(log, past_damage=past_damage):
        if not header.is_control:
            yield from decode_batch(batch)


def replay_batches(
    log: PartitionLog, *, past_damage: bool = False
) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Yield every batch from the start to the high watermark, end markers among them."""
    for chunk in _chunks(log, log.high_watermark, past_damage=past_damage):
        for position, header in iterate_headers(chunk):
            yield header, chunk[position : position + header.size]


def replay_committed(log: PartitionLog) -> Iterator[Record]:
    """Yield what a `read_committed` reader sees: nothing deleted, open or aborted."""
    start, limit = log.log_start_offset, log.last_stable_offset
    for chunk in _chunks(log, limit):
        aborted = log.aborted_in(chunk, limit)
        for position, header in iterate_headers(chunk):
            is_aborted = header.is_transactional and any(
                each.producer_id == header.producer_id
                and each.first_offset <= header.base_offset <= each.last_offset
                for each in aborted
            )
            if not header.is_control and not is_aborted:
                records = decode_batch(chunk[position : position + header.size])
                yield from (each for each in records if each.offset >= start)


def _chunks(log: PartitionLog, limit: int, *, past_damage: bool = False) -> Iterator[memoryview]:
    offset = log.log_start_offset
    while offset < limit:
        try:
            chunk = log.read(offset, CHUNK_BYTES, limit)
        except Corruption:
            if not past_damage:
                raise
            offset = log.offset_past_damage(offset)
            continue
        if not chunk:
            return
        yield chunk
        offset = next_offset_after(chunk, offset)
