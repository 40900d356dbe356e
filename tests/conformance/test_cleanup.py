"""Retention and compaction, by what a reader sees of them."""

from collections.abc import Callable
from typing import Final

import pytest

from conformance.batches import Codec, Record, batch, now_ms
from conformance.calls import (
    append,
    eventually,
    fetch,
    list_offset,
    new_producer_id,
    produce,
    read_all,
)
from conformance.conftest import NewTopic
from conformance.raw import Connection, ErrorCode
from conformance.transactional import Transactional, committed_values

HOUR_MS: Final = 3_600_000
SEGMENT_BYTES: Final = 1_048_576
# A segment holds what was written within a tenth of a second: the tests move the records' time.
COMPACTED: Final = {
    "cleanup.policy": "compact",
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.01",
}


def start_offset(connection: Connection, topic: str) -> int:
    return list_offset(connection, topic, -2).offset


def end_offset(connection: Connection, topic: str) -> int:
    return list_offset(connection, topic, -1).offset


def kept(connection: Connection, topic: str) -> list[tuple[int, bytes | None, bytes | None]]:
    """Offset, key and value of each record that can be read."""
    batches = read_all(connection, topic, start_offset(connection, topic))
    return [(one.offset, one.key, one.value) for batch in batches for one in batch.records]


def write(
    connection: Connection,
    topic: str,
    *pairs: tuple[bytes, bytes | None],
    timestamp: int,
    codec: Codec = Codec.none,
) -> None:
    records = [Record(key=key, value=value, timestamp=timestamp) for key, value in pairs]
    append(connection, topic, batch(*records, codec=codec))


def test_records_older_than_retention_ms_go_away(connection: Connection, new_topic: NewTopic):
    topic = new_topic(configs={"retention.ms": str(HOUR_MS)})
    append(connection, topic, batch(Record(timestamp=now_ms() - 3 * HOUR_MS)))
    append(connection, topic, batch(Record(timestamp=now_ms() - 2 * HOUR_MS)))

    eventually(lambda: start_offset(connection, topic) == 2)

    assert end_offset(connection, topic) == 2
    assert fetch(connection, topic, 1).error_code == ErrorCode.offset_out_of_range
    assert append(connection, topic, batch(b"next")) == 2


def test_segment_with_one_young_record_stays(connection: Connection, new_topic: NewTopic):
    configs = {"retention.ms": str(HOUR_MS), "segment.ms": "1000"}
    topic, control = new_topic(configs=configs), new_topic(configs=configs)
    old, young = now_ms() - 2 * HOUR_MS, now_ms()
    append(connection, topic, batch(Record(timestamp=old), Record(timestamp=young)))
    append(connection, control, batch(Record(timestamp=old)))

    eventually(lambda: start_offset(connection, control) == 1)

    assert start_offset(connection, topic) == 0


def test_oldest_segments_go_away_beyond_retention_bytes(
    connection: Connection, new_topic: NewTopic
):
    topic = new_topic(
        configs={"segment.bytes": str(SEGMENT_BYTES), "retention.bytes": str(SEGMENT_BYTES)}
    )
    append(connection, topic, *(batch(b"x" * 500_000) for _ in range(8)))

    eventually(lambda: start_offset(connection, topic) >= 4)

    # What is left is at least what was asked to be kept.
    assert start_offset(connection, topic) <= 6
    assert end_offset(connection, topic) == 8


@pytest.mark.parametrize("codec", [Codec.none, Codec.zstd])
def test_compaction_keeps_the_latest_value_of_each_key_at_its_offset(
    connection: Connection, new_topic: NewTopic, codec: Codec
):
    topic = new_topic(configs=COMPACTED)
    start = now_ms() - 60_000
    write(connection, topic, (b"a", b"1"), (b"b", b"1"), (b"c", b"1"), timestamp=start, codec=codec)
    write(connection, topic, (b"a", b"2"), (b"b", b"2"), timestamp=start + 1_000, codec=codec)
    write(connection, topic, (b"a", b"3"), timestamp=start + 2_000, codec=codec)
    write(connection, topic, (b"last", b"1"), timestamp=start + 3_000, codec=codec)

    eventually(lambda: len(kept(connection, topic)) == 4)

    assert kept(connection, topic) == [
        (2, b"c", b"1"),
        (4, b"b", b"2"),
        (5, b"a", b"3"),
        (6, b"last", b"1"),
    ]
    assert (start_offset(connection, topic), end_offset(connection, topic)) == (0, 7)


def test_reader_in_a_gap_left_by_compaction_goes_on_behind_it(
    connection: Connection, new_topic: NewTopic
):
    topic = new_topic(configs=COMPACTED)
    start = now_ms() - 60_000
    for index in range(5):
        write(connection, topic, (b"a", b"%d" % index), timestamp=start + 1_000 * index)
    write(connection, topic, (b"last", b""), timestamp=start + 9_000)
    eventually(lambda: len(kept(connection, topic)) == 2)

    batches = read_all(connection, topic, 1)

    assert [one.offset for batch in batches for one in batch.records] == [4, 5]


def test_active_segment_is_not_compacted(connection: Connection, new_topic: NewTopic):
    topic = new_topic(configs=COMPACTED)
    start = now_ms() - 60_000
    write(connection, topic, (b"a", b"1"), timestamp=start)
    write(connection, topic, (b"a", b"2"), timestamp=start + 1_000)
    # Both in the active segment.
    write(connection, topic, (b"b", b"1"), timestamp=start + 2_000)
    write(connection, topic, (b"b", b"2"), timestamp=start + 2_001)

    eventually(lambda: len(kept(connection, topic)) == 3)

    assert [offset for offset, _key, _value in kept(connection, topic)] == [1, 2, 3]


def test_tombstone_removes_the_key_and_then_goes_itself(
    connection: Connection, new_topic: NewTopic
):
    topic = new_topic(configs=COMPACTED | {"delete.retention.ms": "0"})
    start = now_ms() - 60_000
    write(connection, topic, (b"gone", b"1"), timestamp=start)
    write(connection, topic, (b"gone", None), timestamp=start + 1_000)
    later = start + 2_000

    def is_gone() -> bool:
        # Each round is a new segment, so the cleaner has a reason to look again.
        nonlocal later
        later += 1_000
        write(connection, topic, (b"other", b"x"), timestamp=later)
        return b"gone" not in {key for _offset, key, _value in kept(connection, topic)}

    eventually(is_gone)


def test_tombstone_stays_for_delete_retention_ms(connection: Connection, new_topic: NewTopic):
    topic = new_topic(configs=COMPACTED | {"delete.retention.ms": str(HOUR_MS)})
    start = now_ms() - 60_000
    write(connection, topic, (b"gone", b"1"), timestamp=start)
    write(connection, topic, (b"gone", None), timestamp=start + 1_000)
    write(connection, topic, (b"last", b"x"), timestamp=start + 2_000)

    eventually(lambda: len(kept(connection, topic)) == 2)

    assert kept(connection, topic) == [(1, b"gone", None), (2, b"last", b"x")]


def test_producer_goes_on_after_its_records_were_compacted_away(
    connection: Connection, new_topic: NewTopic
):
    topic = new_topic(configs=COMPACTED)
    producer_id = new_producer_id(connection)
    start = now_ms() - 60_000

    def send(sequence: int, timestamp: int) -> int:
        record = Record(key=b"a", value=b"%d" % sequence, timestamp=timestamp)
        answer = produce(
            connection,
            topic,
            batch(record, producer_id=producer_id, producer_epoch=0, base_sequence=sequence),
        )
        assert answer.error_code == ErrorCode.none
        return answer.base_offset

    send(0, start)
    write(connection, topic, (b"a", b"other"), timestamp=start + 1_000)
    write(connection, topic, (b"last", b"x"), timestamp=start + 2_000)
    eventually(lambda: len(kept(connection, topic)) == 2)

    assert send(0, start) == 0
    assert send(1, start + 2_000) == 3


@pytest.mark.parametrize("codec", Codec)
def test_batch_emptied_by_compaction_stays_as_the_last_of_its_producer(
    connection: Connection, new_topic: NewTopic, codec: Codec
):
    topic = new_topic(configs=COMPACTED)
    producer_id = new_producer_id(connection)
    start = now_ms() - 60_000
    record = Record(key=b"a", value=b"1", timestamp=start)
    append(
        connection,
        topic,
        batch(record, producer_id=producer_id, producer_epoch=0, base_sequence=0, codec=codec),
    )
    write(connection, topic, (b"a", b"other"), timestamp=start + 1_000)
    write(connection, topic, (b"last", b"x"), timestamp=start + 2_000)

    eventually(lambda: len(kept(connection, topic)) == 2)

    first = read_all(connection, topic)[0]
    assert first.codec is Codec.none, "librdkafka ends its process over a compressed nothing"
    assert (first.base_offset, first.last_offset, first.records) == (0, 0, ())
    assert (first.producer_id, first.base_sequence) == (producer_id, 0)


def test_compact_and_delete_together(connection: Connection, new_topic: NewTopic):
    topic = new_topic(
        configs=COMPACTED | {"cleanup.policy": "compact,delete", "retention.ms": str(HOUR_MS)}
    )
    write(connection, topic, (b"old", b"1"), timestamp=now_ms() - 2 * HOUR_MS)
    eventually(lambda: start_offset(connection, topic) == 1)

    young = now_ms() - 60_000
    write(connection, topic, (b"a", b"1"), timestamp=young)
    write(connection, topic, (b"a", b"2"), timestamp=young + 1_000)
    write(connection, topic, (b"last", b"x"), timestamp=young + 2_000)
    eventually(lambda: [offset for offset, _key, _value in kept(connection, topic)] == [2, 3])


def test_aborted_record_outdates_nothing_and_goes_away(
    connection: Connection, new_topic: NewTopic, transactional: Callable[..., Transactional]
):
    topic = new_topic(configs=COMPACTED)
    start = now_ms() - 60_000
    write(connection, topic, (b"a", b"1"), (b"b", b"1"), timestamp=start)
    producer = transactional()
    producer.send(topic, Record(key=b"a", value=b"aborted", timestamp=start + 1_000))
    producer.send(topic, Record(key=b"x", value=b"aborted", timestamp=start + 1_000))
    producer.abort()
    producer.send(topic, Record(key=b"b", value=b"2", timestamp=start + 2_000))
    producer.commit()
    write(connection, topic, (b"last", b"1"), timestamp=now_ms() + 1_000)
    write(connection, topic, (b"very last", b"1"), timestamp=now_ms() + 2_000)

    def values() -> list[bytes | None]:
        return [value for _, key, value in kept(connection, topic) if len(key or b"") != 4]

    # Keys of four bytes are those of markers.
    eventually(lambda: b"aborted" not in values() and b"1" in values())
    eventually(lambda: [each[2] for each in kept(connection, topic) if each[1] == b"b"] == [b"2"])

    assert committed_values(connection, topic) == [b"1", b"2", b"1", b"1"]
    assert [key for _, key, _ in kept(connection, topic) if key == b"a"] == [b"a"]


def test_compaction_does_not_pass_an_open_transaction(
    connection: Connection, new_topic: NewTopic, transactional: Callable[..., Transactional]
):
    topic, control = new_topic(configs=COMPACTED), new_topic(configs=COMPACTED)
    start = now_ms() - 60_000
    producer = transactional()
    producer.send(topic, Record(key=b"a", value=b"open", timestamp=start))
    for number in range(4):
        for name in (topic, control):
            write(connection, name, (b"a", b"%d" % number), timestamp=start + 1_000 * number + 500)

    eventually(lambda: len(kept(connection, control)) < 4)

    assert len(kept(connection, topic)) == 5
    producer.commit()
    write(connection, topic, (b"last", b"1"), timestamp=now_ms() + 1_000)
    eventually(lambda: len([1 for each in kept(connection, topic) if each[1] == b"a"]) == 1)
    assert committed_values(connection, topic) == [b"3", b"1"]
