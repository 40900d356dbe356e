"""Records in a batch: written by us and by the clients, read back; damaged ones refused as one error."""

import contextlib
import struct
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from confluent_kafka import Producer
from crc32c import crc32c
from hypothesis import example, given
from hypothesis import strategies as st

from headwater.errors import Corruption
from headwater.testing import Broker
from headwater.wire.compression import NAMES, compress
from headwater.wire.record_batch import (
    CRC_START,
    HEADER,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    BatchHeader,
    checked_header,
    read_header,
    with_fresh_crc,
)
from headwater.wire.records import (
    Record,
    decode_batch,
    encode_batch,
    encode_record,
    plain_body,
    read_varint,
    scan_records,
    varint,
)

with warnings.catch_warnings(action="ignore"):
    from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder

INT64 = st.integers(-(2**63), 2**63 - 1)
TIMES = st.integers(0, 2**62)
BYTES = st.none() | st.binary(max_size=80)
HEADERS = st.lists(st.tuples(st.text(max_size=10), BYTES), max_size=4).map(tuple)
RECORDS = st.lists(
    st.builds(Record, st.just(0), TIMES, BYTES, BYTES, HEADERS), min_size=1, max_size=8
)


def batch_of(records: list[Record], codec: int, base_offset: int = 0) -> bytes:
    """A batch as a client would write it, with our encoder of single records."""
    first = records[0].timestamp
    body = b"".join(
        encode_record(each.timestamp - first, index, each.key, each.value, each.headers)
        for index, each in enumerate(records)
    )
    return wrap(compress(codec, body), len(records), codec, first, base_offset)


def wrap(body: bytes, count: int, codec: int = 0, first: int = 0, base_offset: int = 0) -> bytes:
    header = BatchHeader(
        base_offset=base_offset,
        length=HEADER_SIZE - LENGTH_OVERHEAD + len(body),
        leader_epoch=0,
        magic=2,
        crc=0,
        attributes=codec,
        last_offset_delta=count - 1,
        base_timestamp=first,
        max_timestamp=first,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=count,
    )
    return HEADER.pack(*with_fresh_crc(header, body)) + body


@given(value=INT64)
@example(value=2**63 - 1)
@example(value=-(2**63))
@example(value=63)
@example(value=64)
@example(value=-64)
@example(value=-65)
def test_every_number_of_64_bits_is_a_varint(value: int) -> None:
    written = varint(value)
    assert len(written) <= 10
    assert read_varint(memoryview(b"x" + written + b"y"), 1) == (value, 1 + len(written))


@pytest.mark.parametrize("data", [b"\xff" * 9 + b"\x02", b"\xff" * 10 + b"\x01", b"\x80" * 11])
def test_a_varint_over_64_bits_is_refused(data: bytes) -> None:
    with pytest.raises(Corruption):
        read_varint(memoryview(data), 0)


@given(pairs=st.lists(st.tuples(BYTES, BYTES), min_size=1, max_size=20), now_ms=TIMES)
def test_the_brokers_own_batches_come_back(pairs: list[tuple[bytes, bytes]], now_ms: int) -> None:
    batch = bytes(encode_batch(pairs, now_ms))
    header = checked_header(memoryview(batch), 0, 0)
    assert header.record_count == len(pairs)
    assert [(each.key, each.value) for each in decode_batch(batch)] == pairs
    assert {each.timestamp for each in decode_batch(batch)} == {now_ms}


@given(records=RECORDS, codec=st.sampled_from(list(NAMES)), base_offset=st.integers(0, 2**40))
def test_records_come_back_with_their_place(
    records: list[Record], codec: int, base_offset: int
) -> None:
    decoded = decode_batch(batch_of(records, codec, base_offset))
    assert decoded == [
        each._replace(offset=base_offset + index) for index, each in enumerate(records)
    ]


@given(records=RECORDS, codec=st.sampled_from(list(NAMES)))
def test_scanning_finds_what_decoding_finds(records: list[Record], codec: int) -> None:
    batch = memoryview(batch_of(records, codec))
    header = read_header(batch)
    body = plain_body(header, batch)
    scanned = scan_records(header, memoryview(body))
    assert [
        (
            each.offset_delta,
            header.base_timestamp + each.timestamp_delta,
            each.key,
            each.is_tombstone,
        )
        for each in scanned
    ] == [
        (each.offset, each.timestamp, each.key, each.value is None) for each in decode_batch(batch)
    ]
    pieces = [bytes(body[each.start : each.end]) for each in scanned]
    assert b"".join(pieces) == bytes(body)


@given(records=RECORDS, data=st.data())
def test_damaged_records_are_corruption_and_scanning_agrees(
    records: list[Record], data: st.DataObject
) -> None:
    """The checksum is right: whoever wrote the batch wrote it wrongly."""
    body = bytearray(batch_of(records, 0)[HEADER_SIZE:])
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(
            st.sampled_from([0, 1, 2, 0x7F, 0x80, 0xFF]) | st.integers(0, 255)
        )
    batch = wrap(bytes(body), data.draw(st.integers(1, len(records) + 2)))
    with contextlib.suppress(Corruption):
        scan_records(read_header(batch), memoryview(body))
    try:
        decoded = decode_batch(batch)
    except Corruption:
        return
    for each in decoded:
        struct.pack(">qq", each.offset, each.timestamp)  # What answers are made of fits.
    scanned = scan_records(read_header(batch), memoryview(body))
    assert [(each.offset_delta, each.key) for each in scanned] == [
        (each.offset, each.key) for each in decoded
    ]


@given(records=RECORDS, codec=st.sampled_from(list(NAMES)), data=st.data())
def test_no_damage_passes_the_checksum(
    records: list[Record], codec: int, data: st.DataObject
) -> None:
    batch = bytearray(batch_of(records, codec))
    position = data.draw(st.integers(CRC_START, len(batch) - 1))
    batch[position] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(Corruption):
        checked_header(memoryview(batch), 0, 0)


def aiokafka_batch(records: list[Record], codec: int) -> bytes:
    builder = AiokafkaBuilder(2, codec, 0, -1, -1, -1, 1 << 20)
    for index, each in enumerate(records):
        builder.append(index, each.timestamp, each.key, each.value, list(each.headers))
    return bytes(builder.build())


def kafka_python_batch(records: list[Record], codec: int) -> bytes:
    builder = KafkaPythonBuilder(
        magic=2,
        compression_type=codec,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1 << 20,
    )
    for index, each in enumerate(records):
        builder.append(index, each.timestamp, each.key, each.value, list(each.headers))
    return bytes(builder.build())


# kafka-python needs further packages for the other codecs.
WRITERS = [(aiokafka_batch, codec) for codec in NAMES] + [
    (kafka_python_batch, codec) for codec in (0, 1)
]


@pytest.mark.parametrize(("write", "codec"), WRITERS)
@given(records=RECORDS)
def test_batches_of_python_clients_are_read(
    write: Callable[[list[Record], int], bytes], codec: int, records: list[Record]
) -> None:
    batch = write(records, codec)
    header = checked_header(memoryview(batch), 0, 0)
    assert header.crc == crc32c(batch[CRC_START:])
    assert decode_batch(batch) == [
        each._replace(offset=index) for index, each in enumerate(records)
    ]


@pytest.fixture(scope="module")
def broker() -> Any:
    with Broker() as started:
        yield started


@pytest.mark.parametrize("codec", NAMES.values())
def test_batches_of_librdkafka_are_read(broker: Broker, codec: str) -> None:
    records = [
        Record(index, 1_700_000_000_000 + index, key, value * 50, headers)
        for index, (key, value, headers) in enumerate(
            [
                (None, b"", ()),
                (b"key", b"value", (("name", b"x"), ("empty", b""), ("null", None))),
                (b"", b"\x00\xff" * 100, ()),
            ]
        )
    ]
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap, "compression.type": codec, "linger.ms": 50}
    )
    for each in records:
        producer.produce(
            f"rd-{codec}",
            key=each.key,
            value=each.value,
            headers=list(each.headers),
            timestamp=each.timestamp,
            partition=0,
        )
    assert producer.flush(30) == 0
    log = broker.embedded.topics.get(f"rd-{codec}").partitions[0].log
    stored = log.read(0, 1 << 20, log.high_watermark)
    assert decode_batch(stored[: read_header(stored).size]) == records
