"""The stream reader as Spark's engine calls it, against a real broker: offsets, tasks, rows, losses."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.types import (
    BinaryType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
    VariantType,
)

import headwater
from bulk.reading import delete_before, delete_topic, produce
from headwater.bulk import columns
from headwater.errors import (
    Conflict,
    InvalidRequest,
    NotFound,
    NotSupported,
    OffsetOutOfRange,
    UnreadableValue,
)
from headwater.streams.source.options import SourceOptions
from headwater.streams.source.stream_reader import StreamReader
from headwater.testing import Broker
from streams.schemas import RAW

ALL = ReadAllAvailable()
ORDER = StructType(
    [
        StructField("id", LongType()),
        StructField("total", DoubleType()),
        StructField("at", TimestampType()),
    ]
)


@pytest.fixture
def open_reader(broker: Broker) -> Iterator[Callable[..., StreamReader]]:
    with ExitStack() as opened:

        def make(schema: StructType = RAW, **given: str) -> StreamReader:
            address = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": "orders"}
            options = SourceOptions.of({**address, **given}, is_stream=True)
            reader = StreamReader(options, schema)
            opened.callback(reader.stop)
            return reader

        yield make


@pytest.fixture
def orders(broker: Broker) -> Broker:
    broker.create_topic("orders", partitions=2, retention_ms=-1)
    send(broker, 0, 0, 6)
    send(broker, 1, 6, 10)
    return broker


def send(broker: Broker, partition: int, first: int, end: int) -> None:
    values = [{"value": b"%d" % number, "partition": partition} for number in range(first, end)]
    produce(broker.bootstrap, "orders", values)


def through_checkpoint(offset: dict) -> dict:
    return json.loads(json.dumps(offset))


def as_sparks_kafka_source_reads(offset: dict) -> dict:
    """It flattens topics into partitions: a topic without any is none."""
    return {topic: partitions for topic, partitions in offset.items() if partitions}


def rows(reader: StreamReader, start: dict, end: dict) -> list[dict]:
    return [
        row
        for task in reader.partitions(through_checkpoint(start), through_checkpoint(end))
        for batch in reader.read(task)
        for row in batch.to_pylist()
    ]


def values(reader: StreamReader, start: dict, end: dict) -> list[int]:
    return sorted(int(row["value"]) for row in rows(reader, start, end))


def test_batches_follow_each_other_without_gap_or_overlap(orders: Broker, open_reader) -> None:
    reader = open_reader(startingOffsets="earliest")
    start = reader.initialOffset()
    first = reader.latestOffset(start, ALL)
    assert values(reader, start, first) == list(range(10))
    assert reader.latestOffset(first, ALL) == first, "nothing new"
    send(orders, 1, 10, 13)
    second = reader.latestOffset(first, ALL)
    assert as_sparks_kafka_source_reads(second) == {"orders": {"0": 6, "1": 7}}
    assert values(reader, first, second) == [10, 11, 12]


def test_a_first_batch_that_is_run_again_starts_where_it_started(
    orders: Broker, open_reader
) -> None:
    """The query starts at the latest offset, reads one batch and dies before it is committed."""
    reader = open_reader(startingOffsets="latest")
    start = reader.initialOffset()
    send(orders, 0, 100, 103)
    end = through_checkpoint(reader.latestOffset(start, ALL))
    send(orders, 0, 103, 105)
    restarted = open_reader(startingOffsets="latest")
    assert values(restarted, restarted.initialOffset(), end) == [100, 101, 102]
    following = restarted.latestOffset(end, ALL)
    assert values(restarted, end, following) == [103, 104]


def test_a_first_batch_from_zero_is_written_down_as_sparks_kafka_source_does(
    orders: Broker, open_reader
) -> None:
    """Nothing that it would read is added to its offsets, and still it starts at 0 when it is run again."""
    reader = open_reader(startingOffsets="earliest")
    end = through_checkpoint(reader.latestOffset(reader.initialOffset(), ALL))
    assert as_sparks_kafka_source_reads(end) == {"orders": {"0": 6, "1": 4}}
    restarted = open_reader(startingOffsets="latest")
    assert values(restarted, restarted.initialOffset(), end) == list(range(10))

    delete_before(orders.bootstrap, "orders", 3)
    restarted = open_reader(startingOffsets="earliest")
    with pytest.raises(OffsetOutOfRange, match="deleted or expired"):
        values(restarted, restarted.initialOffset(), end)


def test_a_query_on_a_topic_without_records_writes_down_that_it_has_begun(
    broker: Broker, open_reader
) -> None:
    """Otherwise what is sent before it has read anything would be lost with the next start."""
    broker.create_topic("orders", partitions=2)
    reader = open_reader(startingOffsets="latest")
    start = reader.initialOffset()
    end = through_checkpoint(reader.latestOffset(start, ALL))
    assert end != start, "Spark writes nothing down for a batch that ends where it starts"
    send(broker, 0, 0, 3)
    restarted = open_reader(startingOffsets="latest")
    assert values(restarted, end, restarted.latestOffset(end, ALL)) == [0, 1, 2]


def test_a_query_on_a_pattern_of_no_topic_writes_down_that_it_has_begun(
    broker: Broker, open_reader
) -> None:
    """A topic that comes later is read from its beginning, also if the query was not running then."""
    pattern = {"subscribe": "", "subscribePattern": "^orders", "startingOffsets": "latest"}
    reader = open_reader(**pattern)
    start = reader.initialOffset()
    end = through_checkpoint(reader.latestOffset(start, ALL))
    assert end != start
    assert reader.partitions(start, end) == []
    broker.create_topic("orders", partitions=2, retention_ms=-1)
    send(broker, 0, 0, 3)
    restarted = open_reader(**pattern)
    assert values(restarted, end, restarted.latestOffset(end, ALL)) == [0, 1, 2]


def test_a_topic_without_its_oldest_records_may_be_the_first_that_a_pattern_finds(
    broker: Broker, open_reader
) -> None:
    reader = open_reader(subscribe="", subscribePattern="^orders", startingOffsets="latest")
    start = reader.initialOffset()
    broker.create_topic("orders", partitions=2, retention_ms=-1)
    send(broker, 0, 0, 5)
    delete_before(broker.bootstrap, "orders", 3)
    assert values(reader, start, through_checkpoint(reader.latestOffset(start, ALL))) == [3, 4]


@pytest.mark.usefixtures("orders")
def test_limits_are_kept_and_the_lag_is_told(open_reader) -> None:
    reader = open_reader(startingOffsets="earliest", maxOffsetsPerTrigger="5")
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMaxRows(5)
    start, seen = reader.initialOffset(), []
    while (end := reader.latestOffset(start, limit)) != start:
        found = values(reader, start, end)
        assert len(found) <= 6
        assert reader.reportLatestOffset() == {"orders": {"0": 6, "1": 4}}
        seen += found
        start = end
    assert sorted(seen) == list(range(10))
    assert open_reader().getDefaultReadLimit() == ALL


def test_available_now_stops_at_what_was_there(orders: Broker, open_reader) -> None:
    reader = open_reader(startingOffsets="earliest", minOffsetsPerTrigger="1000")
    reader.prepareForTriggerAvailableNow()
    send(orders, 0, 10, 20)
    start = reader.initialOffset()
    end = reader.latestOffset(start, ALL)
    assert values(reader, start, end) == list(range(10))
    assert reader.latestOffset(end, ALL) == end


def test_a_batch_waits_for_enough_records(orders: Broker, open_reader) -> None:
    reader = open_reader(startingOffsets="earliest", minOffsetsPerTrigger="5")
    first = reader.latestOffset(reader.initialOffset(), ALL)
    send(orders, 0, 10, 14)
    assert reader.latestOffset(first, ALL) == first
    send(orders, 0, 14, 15)
    assert values(reader, first, reader.latestOffset(first, ALL)) == [10, 11, 12, 13, 14]


def test_new_partitions_and_topics_are_read_from_their_beginning(
    orders: Broker, open_reader
) -> None:
    reader = open_reader(subscribe="", subscribePattern="ord.*", startingOffsets="latest")
    first = reader.latestOffset(reader.initialOffset(), ALL)
    admin = AdminClient({"bootstrap.servers": orders.bootstrap, "log_level": 0})
    admin.create_partitions([NewPartitions("orders", 3)])["orders"].result()
    send(orders, 2, 20, 22)
    orders.create_topic("order-lines", retention_ms=-1)
    produce(orders.bootstrap, "order-lines", [{"value": b"30"}])
    second = reader.latestOffset(first, ReadMaxRows(100))
    assert as_sparks_kafka_source_reads(second) == {
        "order-lines": {"0": 1},
        "orders": {"0": 6, "1": 4, "2": 2},
    }
    assert values(reader, first, second) == [20, 21, 30]


@pytest.mark.usefixtures("orders")
def test_large_ranges_are_shared_among_tasks(open_reader) -> None:
    reader = open_reader(startingOffsets="earliest", minPartitions="5")
    start = reader.initialOffset()
    end = reader.latestOffset(start, ALL)
    assert len(reader.partitions(start, end)) == 5
    assert values(reader, start, end) == list(range(10))


class TestLosses:
    def test_deleted_records_are_an_error(self, orders: Broker, open_reader) -> None:
        reader = open_reader(startingOffsets="earliest")
        start = reader.initialOffset()
        delete_before(orders.bootstrap, "orders", 4)
        end = reader.latestOffset(start, ALL)
        with pytest.raises(OffsetOutOfRange, match="failOnDataLoss") as raised:
            rows(reader, start, end)
        assert "orders-0 from 0 to 6: the log now reaches from 4 to 6" in str(raised.value)

    def test_deleted_records_may_be_skipped(self, orders: Broker, open_reader) -> None:
        reader = open_reader(startingOffsets="earliest", failOnDataLoss="false")
        start = reader.initialOffset()
        delete_before(orders.bootstrap, "orders", 4)
        end = reader.latestOffset(start, ALL)
        assert values(reader, start, end) == list(range(4, 10))

    def test_a_deleted_topic_is_an_error(self, orders: Broker, open_reader) -> None:
        reader = open_reader(startingOffsets="earliest")
        start = reader.initialOffset()
        delete_topic(orders.bootstrap, "orders")
        with pytest.raises(NotFound, match="'orders' does not exist"):
            reader.latestOffset(start, ALL)

    @pytest.mark.parametrize("fails", ["true", "false"])
    def test_a_topic_that_a_pattern_no_longer_finds(
        self, orders: Broker, open_reader, fails: str
    ) -> None:
        orders.create_topic("orders-old", retention_ms=-1)
        reader = open_reader(subscribe="", subscribePattern="orders.*", failOnDataLoss=fails)
        start = reader.initialOffset()
        delete_topic(orders.bootstrap, "orders-old")
        if fails == "false":
            assert list(as_sparks_kafka_source_reads(reader.latestOffset(start, ALL))) == ["orders"]
            return
        with pytest.raises(NotFound, match="orders-old-0 does not exist any more"):
            reader.latestOffset(start, ALL)

    @pytest.mark.parametrize("fails", ["true", "false"])
    def test_a_topic_that_is_no_longer_asked_for_is_not_said_to_be_deleted(
        self, orders: Broker, open_reader, fails: str
    ) -> None:
        orders.create_topic("others", retention_ms=-1)
        both = open_reader(subscribe="orders,others", startingOffsets="earliest")
        end = through_checkpoint(both.latestOffset(both.initialOffset(), ALL))
        reader = open_reader(subscribe="others", failOnDataLoss=fails)
        if fails == "false":
            assert as_sparks_kafka_source_reads(reader.latestOffset(end, ALL)) == {
                "others": {"0": 0}
            }
            return
        with pytest.raises(Conflict, match="orders-0 was read up to 6, but is no longer among"):
            reader.latestOffset(end, ALL)

    @pytest.mark.parametrize("fails", ["true", "false"])
    def test_a_topic_that_was_made_anew(self, orders: Broker, open_reader, fails: str) -> None:
        reader = open_reader(startingOffsets="earliest", failOnDataLoss=fails)
        old = reader.latestOffset(reader.initialOffset(), ALL)
        delete_topic(orders.bootstrap, "orders")
        orders.create_topic("orders", partitions=2)
        send(orders, 0, 50, 52)
        if fails == "true":
            with pytest.raises(OffsetOutOfRange, match="made again"):
                reader.latestOffset(old, ALL)
            return
        new = reader.latestOffset(old, ALL)
        assert values(reader, old, new) == [50, 51]

    @pytest.mark.parametrize("begins_again", [False, True])
    @pytest.mark.parametrize("fails", ["true", "false"])
    def test_a_topic_that_was_made_anew_and_has_grown_past_the_old_one(
        self, orders: Broker, open_reader, fails: str, begins_again: bool
    ) -> None:
        reader = open_reader(startingOffsets="earliest", failOnDataLoss=fails)
        old = reader.latestOffset(reader.initialOffset(), ALL)
        make_anew(orders, [range(100, 106), range(106, 110)])  # as many as there were
        if begins_again:
            reader = open_reader(failOnDataLoss=fails)
        if fails == "true":
            with pytest.raises(OffsetOutOfRange, match="'orders' was deleted and made again"):
                reader.latestOffset(through_checkpoint(old), ALL)
            return
        new = reader.latestOffset(through_checkpoint(old), ReadMaxRows(6))
        assert len(values(reader, old, new)) < 10
        end = reader.latestOffset(new, ALL)
        read = values(reader, old, new) + values(reader, new, end)
        assert sorted(read) == list(range(100, 110))
        assert reader.latestOffset(end, ALL) == end

    @pytest.mark.parametrize("fails", ["true", "false"])
    def test_a_topic_that_was_made_anew_before_a_planned_batch_was_read(
        self, orders: Broker, open_reader, fails: str
    ) -> None:
        """The batch is run again: what it was to read is gone, and what is there now is not it."""
        reader = open_reader(startingOffsets="earliest", maxOffsetsPerTrigger="4")
        first = reader.latestOffset(reader.initialOffset(), reader.getDefaultReadLimit())
        planned = through_checkpoint(reader.latestOffset(first, ALL))
        make_anew(orders, [range(100, 120), range(120, 140)])
        restarted = open_reader(failOnDataLoss=fails)
        if fails == "true":
            with pytest.raises(OffsetOutOfRange, match="'orders' was deleted and made again"):
                restarted.partitions(first, planned)
            return
        assert values(restarted, first, planned) == []
        following = restarted.latestOffset(planned, ALL)
        assert values(restarted, planned, following) == list(range(100, 140))

    @pytest.mark.usefixtures("orders")
    def test_a_checkpoint_that_does_not_tell_its_topics_goes_on(self, open_reader) -> None:
        """Earlier versions wrote none, and Spark's Kafka source writes none."""
        old = {"orders": {"0": 4, "1": 4}}
        reader = open_reader()
        assert values(reader, old, reader.latestOffset(old, ALL)) == [4, 5]


def make_anew(broker: Broker, contents: list[range]) -> None:
    delete_topic(broker.bootstrap, "orders")
    broker.create_topic("orders", partitions=len(contents), retention_ms=-1)
    for partition, numbers in enumerate(contents):
        send(broker, partition, numbers.start, numbers.stop)


class TestTypedRows:
    def sent(self, broker: Broker, *sent: bytes | None) -> None:
        broker.create_topic("orders")
        records = [
            {"value": each, "key": b"k%d" % at, "headers": [("trace", b"%d" % at)]}
            for at, each in enumerate(sent)
        ]
        produce(broker.bootstrap, "orders", records)

    def read(self, reader: StreamReader) -> list[dict]:
        start = reader.initialOffset()
        return rows(reader, start, reader.latestOffset(start, ALL))

    def test_values_become_columns(self, broker: Broker, open_reader) -> None:
        self.sent(broker, b'{"id":1,"total":2.5,"at":"2026-09-01T10:00:00Z"}', b"{}", None)
        reader = open_reader(ORDER, valueFormat="json", startingOffsets="earliest")
        nothing = {"id": None, "total": None, "at": None}
        at = datetime(2026, 9, 1, 10, tzinfo=UTC)
        assert self.read(reader) == [{"id": 1, "total": 2.5, "at": at}, nothing, nothing]

    def test_columns_of_the_record_stand_beside(self, broker: Broker, open_reader) -> None:
        self.sent(broker, b'{"id":1}', b'{"id":2}')
        schema = StructType(
            [
                StructField("_key", BinaryType()),
                StructField("id", LongType()),
                StructField("_offset", LongType()),
            ]
        )
        reader = open_reader(schema, valueFormat="json", startingOffsets="earliest")
        assert self.read(reader) == [
            {"_key": b"k0", "id": 1, "_offset": 0},
            {"_key": b"k1", "id": 2, "_offset": 1},
        ]

    def test_a_column_that_was_not_asked_of_the_record_is_of_the_value(
        self, broker: Broker, open_reader
    ) -> None:
        self.sent(broker, b'{"id":1,"_offset":70,"_key":"x"}')
        names = ["id", "_offset", "_key"]
        types = [LongType(), LongType(), StringType()]
        schema = StructType([StructField(*each) for each in zip(names, types, strict=True)])
        reader = open_reader(
            schema, valueSchema="id LONG, _offset LONG, _key STRING", startingOffsets="earliest"
        )
        assert self.read(reader) == [{"id": 1, "_offset": 70, "_key": "x"}]

    def test_unreadable_values_go_to_the_dead_letters_and_the_rest_goes_on(
        self, broker: Broker, open_reader
    ) -> None:
        self.sent(broker, b'{"id":1}', b'{"id":"x"}', b"garbage", b'{"id":4}')
        reader = open_reader(ORDER, valueFormat="json", startingOffsets="earliest")
        assert [row["id"] for row in self.read(reader)] == [1, 4]
        first, second = broker.topic("orders.dead").records(value_format="bytes")
        assert (first.key, first.value) == ("k1", b'{"id":"x"}')
        assert dict(first.headers) == {
            "trace": b"1",
            "headwater.reason": b'field id is not a whole number of 64 bits: "x"',
            "headwater.topic": b"orders",
            "headwater.partition": b"0",
            "headwater.offset": b"1",
        }
        assert second.value == b"garbage"

    def test_a_task_that_runs_again_loses_no_dead_letter(self, broker: Broker, open_reader) -> None:
        self.sent(broker, b"garbage", b'{"id":2}')
        reader = open_reader(
            ORDER, valueFormat="json", startingOffsets="earliest", deadLetterTopic="lost"
        )
        assert [[row["id"] for row in self.read(reader)] for _ in range(2)] == [[2], [2]]
        letters = broker.topic("lost").records(value_format="bytes")
        assert {dict(each.headers)["headwater.offset"] for each in letters} == {b"0"}

    def test_a_dead_letter_that_cannot_be_stored_fails_the_task(
        self, broker: Broker, open_reader
    ) -> None:
        """Otherwise it would be lost."""
        self.sent(broker, b"garbage")
        reader = open_reader(
            ORDER, valueFormat="json", startingOffsets="earliest", deadLetterTopic="no/topic"
        )
        with pytest.raises(InvalidRequest, match="no/topic"):
            self.read(reader)

    def test_an_unreadable_value_of_any_size_stops_no_query(
        self, broker: Broker, open_reader
    ) -> None:
        """Its own topic took it: by a limit of its own, or since it was small when compressed."""
        broker.create_topic("orders", max_message_bytes=10_000_000)
        large = {"message.max.bytes": 20_000_000}
        produce(broker.bootstrap, "orders", [{"value": b"x" * 100}], **large)
        produce(broker.bootstrap, "orders", [{"value": b"y" * 3_000_000}], **large)
        squeezed = large | {"compression.type": "zstd"}
        produce(broker.bootstrap, "orders", [{"value": b"z" * 15_000_000}], **squeezed)
        produce(broker.bootstrap, "orders", [{"value": b'{"id":1}'}])
        reader = open_reader(ORDER, valueFormat="json", startingOffsets="earliest")
        assert [row["id"] for row in self.read(reader)] == [1]
        sizes = [
            len(each.value) for each in broker.topic("orders.dead").records(value_format="bytes")
        ]
        assert sizes == [100, 3_000_000, 15_000_000]

    def test_a_letter_that_is_too_large_for_a_topic_that_is_there_stops_no_query(
        self, broker: Broker, open_reader
    ) -> None:
        broker.create_topic("lost", max_message_bytes=100)
        self.sent(broker, b"garbage" * 100)
        reader = open_reader(
            ORDER, valueFormat="json", startingOffsets="earliest", deadLetterTopic="lost"
        )
        assert self.read(reader) == []
        assert len(broker.topic("lost").records(value_format="bytes")) == 1

    def test_letters_do_not_expire(self, broker: Broker, open_reader) -> None:
        self.sent(broker, b"garbage")
        self.read(open_reader(ORDER, valueFormat="json", startingOffsets="earliest"))
        with headwater.connect(broker.bootstrap) as client:
            configs = {each.name: each.value for each in client.admin.topics.configs("orders.dead")}
        assert configs["retention.ms"] == "-1"

    def test_unreadable_values_may_fail_the_task(self, broker: Broker, open_reader) -> None:
        self.sent(broker, b'{"id":1}', b'{"id":"x"}')
        reader = open_reader(
            ORDER, valueFormat="json", startingOffsets="earliest", badRecords="fail"
        )
        with pytest.raises(UnreadableValue, match="orders-0 has an unreadable value at offset 1"):
            self.read(reader)

    def test_an_unfit_schema_is_refused_before_anything_is_read(self, open_reader) -> None:
        with pytest.raises(InvalidRequest, match="valueFormat"):
            open_reader(ORDER)
        with pytest.raises(InvalidRequest, match="_offset of the schema must be offset BIGINT"):
            open_reader(
                StructType([*ORDER, StructField("_offset", BinaryType())]), valueFormat="json"
            )
        with pytest.raises(InvalidRequest, match="no column that comes from the value"):
            open_reader(StructType([StructField("_offset", LongType())]), valueFormat="json")
        with pytest.raises(NotSupported, match="column 'a' of type VARIANT"):
            open_reader(StructType([StructField("a", VariantType())]), valueFormat="json")


def test_the_columns_are_those_that_spark_expects() -> None:
    from pyspark.sql.pandas.types import to_arrow_schema

    assert to_arrow_schema(RAW, timezone="UTC") == columns.WITHOUT_HEADERS
