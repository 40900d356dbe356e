"""Records that are encoded in bulk are read back as they were, by the decoder of single records."""

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.bulk.columns import HEADERS, TIMESTAMP
from headwater.bulk.encode import Sender, encode
from headwater.bulk.partitioner import murmur2, partitions_of
from headwater.wire import compression
from headwater.wire.record_batch import ProducerIdAndEpoch, checked_header
from headwater.wire.records import decode_batch

SCHEMA = pa.schema(
    [("key", pa.binary()), ("value", pa.binary()), ("headers", HEADERS), ("timestamp", TIMESTAMP)]
)
NOW_MS = 1_800_000_000_000
BYTES = st.none() | st.binary(max_size=200)
RECORDS = st.fixed_dictionaries(
    {
        "key": BYTES,
        "value": BYTES,
        "headers": st.none()
        | st.lists(st.fixed_dictionaries({"key": st.text(max_size=4), "value": BYTES}), max_size=3),
        "timestamp": st.none() | st.integers(-(2**40), 2**50).map(lambda ms: ms * 1000),
    }
)


def as_read(record: dict) -> tuple:
    at = record["timestamp"]
    headers = tuple((each["key"], each["value"]) for each in record["headers"] or ())
    return NOW_MS if at is None else at // 1000, record["key"], record["value"], headers


@given(
    records=st.lists(RECORDS, min_size=1, max_size=30),
    skipped=st.integers(0, 3),
    codec=st.sampled_from(list(compression.NAMES)),
)
@settings(deadline=None)
def test_what_is_encoded_in_bulk_is_read_one_by_one(records, skipped: int, codec: int) -> None:
    columns = [
        pa.array([each[name] for each in records], SCHEMA.field(name).type) for name in SCHEMA.names
    ]
    rows = pa.RecordBatch.from_arrays(columns, schema=SCHEMA).slice(skipped)
    if not rows.num_rows:
        return
    producer = ProducerIdAndEpoch(7, 3)
    found = []
    for first, each in encode(rows, [0], NOW_MS, Sender(producer, codec)):
        batch = memoryview(each.in_sequence(5))
        header = checked_header(batch, 0, 0)
        assert (first, header.producer, header.base_sequence) == (len(found), producer, 5)
        assert header.is_transactional
        read = decode_batch(batch)
        assert [record.offset for record in read] == list(range(len(read)))
        assert header.max_timestamp == max(record.timestamp for record in read)
        found += [record[1:] for record in read]
    assert found == [as_read(each) for each in records[skipped:]]


def test_batches_are_bounded_and_end_where_a_partition_does() -> None:
    sizes = [100] * 30 + [5000] + [100] * 5
    columns = [pa.nulls(36, pa.binary()), pa.array([bytes(each) for each in sizes])]
    nothing = [pa.nulls(36, HEADERS), pa.nulls(36, TIMESTAMP)]
    rows = pa.RecordBatch.from_arrays([*columns, *nothing], schema=SCHEMA)
    sender = Sender(ProducerIdAndEpoch(1, 1), batch_bytes=1000)
    made = list(encode(rows, [0, 10, 33], NOW_MS, sender))
    starts = [first for first, _ in made]
    assert {0, 10, 33} <= set(starts), "a partition begins with a batch of its own"
    counts = [each.header.record_count for _, each in made]
    assert starts == [sum(counts[:at]) for at in range(len(counts))]
    assert all(each.header.size <= 1100 or each.header.record_count == 1 for _, each in made)


def java_murmur2(data: bytes) -> int:
    """As in Kafka's Utils.murmur2, word by word."""
    mask, factor = 0xFFFFFFFF, 0x5BD1E995
    found = 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * factor & mask
        word = (word ^ word >> 24) * factor & mask
        found = found * factor & mask ^ word
    if data[whole:]:
        found = (found ^ int.from_bytes(data[whole:], "little")) * factor & mask
    found = (found ^ found >> 13) * factor & mask
    return found ^ found >> 15


@given(keys=st.lists(st.binary(max_size=40), min_size=1), skipped=st.integers(0, 2))
@settings(deadline=None)
def test_keys_are_hashed_as_java_does(keys: list[bytes], skipped: int) -> None:
    found = murmur2(pa.array(keys, pa.binary())[skipped:])
    assert found.tolist() == [java_murmur2(each) for each in keys[skipped:]]


def test_a_hash_that_kafka_itself_tests() -> None:
    """From Kafka's UtilsTest, as numbers without a sign."""
    keys = pa.array([b"21", b"foobar", b"a-little-bit-long-string"])
    expected = [each % 2**32 for each in (-973932308, -790332482, -985981536)]
    assert murmur2(keys).tolist() == expected


def test_records_go_to_the_partition_they_name_then_to_that_of_their_key() -> None:
    keys = pa.array([b"21", b"21", None, None, None, None])
    named = pa.array([None, 4, 2, None, None, None], pa.int32())
    found = partitions_of(keys, named, 3).tolist()
    assert found[:3] == [(-973932308 % 2**31) % 3, 4, 2]
    assert set(partitions_of(pa.nulls(9, pa.binary()), pa.nulls(9, pa.int32()), 3)) == {0, 1, 2}
