"""Read a whole log, record by record: how the broker's own state comes back at start."""

from collections.abc import Iterator

from headwater.log.partition import PartitionLog
from headwater.wire.record_batch import iterate_headers
from headwater.wire.records import Record, decode_batch

CHUNK_BYTES = 4 << 20


def replay(log: PartitionLog) -> Iterator[Record]:
    """Yield every record from the start to the high watermark; raises `Corruption` at damage."""
    offset = log.log_start_offset
    while offset < log.high_watermark:
        chunk = log.read(offset, CHUNK_BYTES, log.high_watermark)
        if not chunk:
            return
        for position, header in iterate_headers(chunk):
            yield from decode_batch(chunk[position : position + header.size])
            offset = header.next_offset
