"""Read a whole log, record by record: how the broker's own state comes back at start."""

from collections.abc import Iterator

from headwater.errors import Corruption
from headwater.log.partition import PartitionLog
from headwater.wire.record_batch import iterate_headers
from headwater.wire.records import Record, decode_batch

CHUNK_BYTES = 4 << 20


def replay(log: PartitionLog, *, past_damage: bool = False) -> Iterator[Record]:
    """Yield every record from the start to the high watermark.

    Raises `Corruption` at damage; with `past_damage` it is logged (by `read`), and the rest follows.
    """
    offset = log.log_start_offset
    while offset < log.high_watermark:
        try:
            chunk = log.read(offset, CHUNK_BYTES, log.high_watermark)
        except Corruption:
            if not past_damage:
                raise
            offset = log.offset_past_damage(offset)
            continue
        if not chunk:
            return
        for position, header in iterate_headers(chunk):
            yield from decode_batch(chunk[position : position + header.size])
            offset = header.next_offset
