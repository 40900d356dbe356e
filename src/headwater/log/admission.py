"""Whether a batch may enter the log: its frame, its checksum and the rules of its topic."""

from typing import NamedTuple

from headwater.errors import (
    Corruption,
    InvalidRecord,
    InvalidTimestamp,
    RecordTooLarge,
)
from headwater.log.settings import LONG_MAX, LogSettings
from headwater.wire.checksum import crc32c
from headwater.wire.record_batch import (
    CRC_START,
    HEADER_SIZE,
    MAGIC,
    MINIMUM_LENGTH,
    BatchHeader,
    read_header,
    with_append_time,
    with_create_time,
)
from headwater.wire.records import OwnBatch, plain_body, scan_records

NO_TIMESTAMP = -1


class Admitted(NamedTuple):
    """A batch that may be appended: the header as it will be stored, and the bytes after it."""

    header: BatchHeader
    body: memoryview
    append_time_ms: int
    """The time given to every record, or -1 where records keep the time of their producer."""


def admit(records: memoryview, settings: LogSettings, now_ms: int) -> Admitted:
    """Check one batch as a producer sent it; raises what is wrong with it."""
    header = _framed(records)
    _check_size(len(records), settings)
    if crc32c(records[CRC_START:]) != header.crc:
        raise Corruption("a batch fails its checksum")
    _check_shape(header)
    if settings.is_compacted:
        _check_keys(header, records)
    body = records[HEADER_SIZE:]
    if settings.uses_append_time:
        return Admitted(with_append_time(header, body, now_ms), body, now_ms)
    _check_times(header, records, settings, now_ms)
    if header.has_append_time:
        header = with_create_time(header, body)
    return Admitted(header, body, NO_TIMESTAMP)


def admit_own(batch: OwnBatch, settings: LogSettings | None = None) -> Admitted:
    """Take one batch that the broker itself has written; without settings, of any size."""
    if settings is not None:
        _check_size(batch.header.size, settings)
    return Admitted(batch.header, memoryview(batch.body), NO_TIMESTAMP)


def _check_size(size_bytes: int, settings: LogSettings) -> None:
    if size_bytes > settings.max_message_bytes:
        raise RecordTooLarge(
            f"a batch of {size_bytes} bytes exceeds max.message.bytes={settings.max_message_bytes}",
            hint="send smaller batches, or raise max.message.bytes of the topic",
        )


def _framed(records: memoryview) -> BatchHeader:
    if len(records) < HEADER_SIZE:
        raise InvalidRecord("a batch is shorter than its header")
    header = read_header(records)
    if header.magic != MAGIC:
        raise InvalidRecord(
            f"record format {header.magic} is not supported", hint="use a client of 2017 or later"
        )
    if header.length < MINIMUM_LENGTH or header.size > len(records):
        raise InvalidRecord("a batch is shorter than it says")
    if header.size < len(records):
        raise InvalidRecord("a produce request carries one batch per partition")
    return header


def _check_shape(header: BatchHeader) -> None:
    if header.base_offset != 0:
        raise InvalidRecord("the broker gives offsets: a batch comes with base offset 0")
    if header.record_count <= 0 or header.last_offset_delta != header.record_count - 1:
        raise InvalidRecord(
            f"a batch of {header.record_count} records ends at delta {header.last_offset_delta}"
        )
    if header.is_control:
        raise InvalidRecord("clients may not write control batches")
    if header.codec > 4:
        raise InvalidRecord(f"unknown compression codec {header.codec}")
    if header.has_producer and (header.producer_epoch < 0 or header.base_sequence < 0):
        raise InvalidRecord("a producer id comes with an epoch and a sequence")
    if header.is_transactional and not header.has_producer:
        raise InvalidRecord("a transactional batch names its producer")


def _check_keys(header: BatchHeader, records: memoryview) -> None:
    scanned = scan_records(header, memoryview(plain_body(header, records)))
    keyless = [index for index, each in enumerate(scanned) if each.key is None]
    if keyless:
        raise InvalidRecord("a compacted topic takes no record without a key", indexes=keyless)


def _check_times(
    header: BatchHeader, records: memoryview, settings: LogSettings, now_ms: int
) -> None:
    latest = now_ms + settings.timestamp_after_max_ms
    has_earliest = settings.timestamp_before_max_ms != LONG_MAX
    if header.max_timestamp <= latest and not has_earliest:
        return
    earliest = now_ms - settings.timestamp_before_max_ms if has_earliest else NO_TIMESTAMP
    scanned = scan_records(header, memoryview(plain_body(header, records)))
    times = [header.base_timestamp + each.timestamp_delta for each in scanned]
    wrong = [
        index
        for index, each in enumerate(times)
        if each != NO_TIMESTAMP and not earliest <= each <= latest
    ]
    if wrong:
        raise InvalidTimestamp(
            f"timestamp {times[wrong[0]]} lies too far from the broker's clock ({now_ms})",
            indexes=wrong,
        )
