"""Offsets by time, exact to the record."""

from typing import NamedTuple

from headwater.log.batch_file import Place
from headwater.log.partition import PartitionLog
from headwater.log.segment import Segment
from headwater.wire.record_batch import BatchHeader
from headwater.wire.records import Record, decode_batch


class TimedOffset(NamedTuple):
    """A record found by its time."""

    offset: int
    timestamp: int
    leader_epoch: int


def first_at_or_after(log: PartitionLog, timestamp: int, limit: int) -> TimedOffset | None:
    """Return the first record whose time is `timestamp` or later, among those below `limit`."""
    for segment in log.segments:
        if segment.max_timestamp < timestamp or segment.next_offset <= log.log_start_offset:
            continue
        start = segment.index.position_for_time(timestamp)
        for position, header in segment.walk(start, segment.durable_size):
            if header.base_offset >= limit:
                return None
            if header.max_timestamp < timestamp or header.last_offset < log.log_start_offset:
                continue
            for record in _records(segment, position, header):
                if record.timestamp >= timestamp and record.offset >= log.log_start_offset:
                    return TimedOffset(record.offset, record.timestamp, header.leader_epoch)
    return None


def latest_time(log: PartitionLog, limit: int) -> TimedOffset | None:
    """Return the first record that has the largest time of the log.

    As the headers say; where compaction took the record that a header speaks of, by every record.
    """
    best: tuple[int, Segment, int, BatchHeader] | None = None
    for segment in log.segments:
        if best is not None and segment.max_timestamp <= best[0]:
            continue
        for position, header in segment.walk(0, segment.durable_size):
            if header.base_offset >= limit:
                break
            if header.last_offset < log.log_start_offset:
                continue
            if best is None or header.max_timestamp > best[0]:
                best = (header.max_timestamp, segment, position, header)
    if best is None:
        return None
    timestamp, segment, position, header = best
    found = _latest_of(_records(segment, position, header), header, log)
    is_as_told = found is not None and found.timestamp == timestamp
    return found if is_as_told else _latest_of_all(log, limit)


def _latest_of_all(log: PartitionLog, limit: int) -> TimedOffset | None:
    best: TimedOffset | None = None
    for segment in log.segments:
        if best is not None and segment.max_timestamp <= best.timestamp:
            continue
        for position, header in segment.walk(0, segment.durable_size):
            if header.base_offset >= limit:
                break
            if header.last_offset < log.log_start_offset:
                continue
            if best is not None and header.max_timestamp <= best.timestamp:
                continue
            found = _latest_of(_records(segment, position, header), header, log)
            if found is not None and (best is None or found.timestamp > best.timestamp):
                best = found
    return best


def _latest_of(records: list[Record], header: BatchHeader, log: PartitionLog) -> TimedOffset | None:
    eligible = [each for each in records if each.offset >= log.log_start_offset]
    if not eligible:
        return None
    record = max(eligible, key=lambda each: (each.timestamp, -each.offset))
    return TimedOffset(record.offset, record.timestamp, header.leader_epoch)


def _records(segment: Segment, position: int, header: BatchHeader) -> list[Record]:
    place = Place(position, header.base_offset)
    batch, _ = segment.read_piece(place, segment.durable_size, header.size)
    return decode_batch(batch[: header.size])
