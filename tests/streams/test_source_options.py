"""Options of the source: Spark's own names and meanings; what cannot be meant is one clear sentence."""

import pytest

from headwater.bulk.cluster import EARLIEST, LATEST
from headwater.bulk.ranges import Isolation, TopicPartition
from headwater.errors import InvalidRequest
from headwater.streams.options import Options
from headwater.streams.sink.options import SinkOptions
from headwater.streams.source.offsets import (
    AtOffsets,
    AtTimes,
    Everywhere,
    first_start,
    from_json,
    to_json,
)
from headwater.streams.source.options import SourceOptions

ORDERS_0 = TopicPartition("orders", 0)


def options(*, is_stream: bool = True, **given: str) -> SourceOptions:
    chosen = {} if {"assign", "subscribePattern"} & set(given) else {"subscribe": "orders"}
    address = {"kafka.bootstrap.servers": "localhost:9092"}
    return SourceOptions.of({**address, **chosen, **given}, is_stream=is_stream)


def test_defaults_are_those_of_sparks_kafka_source_but_for_the_isolation() -> None:
    stream, batch = options(), options(is_stream=False)
    assert stream.subscription.topics == ("orders",)
    assert (stream.starting, batch.starting) == (Everywhere(LATEST), Everywhere(EARLIEST))
    assert batch.ending == Everywhere(LATEST)
    assert stream.fails_on_data_loss
    assert not stream.with_headers
    assert stream.isolation is Isolation.READ_COMMITTED
    assert stream.values.format is None


def test_names_are_read_without_regard_to_case() -> None:
    assert options(SUBSCRIBE="a, b", INCLUDEHEADERS="True").subscription.topics == ("a", "b")


def test_where_to_begin_and_end() -> None:
    by_offset = options(startingOffsets='{"orders":{"0":-2,"1":7}}').starting
    assert by_offset == AtOffsets(
        {ORDERS_0: EARLIEST, TopicPartition("orders", 1): 7}, "startingOffsets"
    )
    by_time = options(startingOffsetsByTimestamp='{"orders":{"0":1000}}').starting
    assert by_time == AtTimes({ORDERS_0: 1000}, "startingOffsetsByTimestamp", or_latest=False)
    assert options(startingTimestamp="1000", startingOffsets="latest").starting == AtTimes(
        1000, "startingTimestamp", or_latest=False
    )
    ending = options(is_stream=False, endingTimestamp="5").ending
    assert ending == AtTimes(5, "endingTimestamp", or_latest=True)


def test_isolation_can_be_given_as_kafka_has_it() -> None:
    chosen = options(**{"kafka.isolation.level": "read_uncommitted"})
    assert chosen.isolation is Isolation.READ_UNCOMMITTED
    assert options(isolation="read_uncommitted").isolation is Isolation.READ_UNCOMMITTED


def test_a_value_schema_means_json() -> None:
    assert options(valueSchema="id BIGINT").values.format == "json"
    assert options(valueFormat="raw").values.format is None
    assert options(valueSchema="id BIGINT").values.dead_letter_topic_of("a") == "a.dead"
    chosen = options(valueSchema="id BIGINT", deadLetterTopic="x").values
    assert chosen.dead_letter_topic_of("a") == "x"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"subscribe": ""}, "no topic given"),
        ({"subscribe": "a", "assign": '{"a":[0]}'}, "subscribe and assign given"),
        (
            {"startingOffset": "earliest"},
            r"no option 'startingoffset' \(hint: meant: startingOffsets",
        ),
        ({"frobnicate": "1"}, "the options are assign, "),
        ({"startingOffsets": "soon"}, "startingOffsets must be JSON"),
        ({"startingOffsets": "[1]"}, "startingOffsets is not a mapping"),
        ({"startingOffsets": '{"orders":{"0":true}}'}, "startingOffsets is not a mapping"),
        ({"startingOffsets": '{"orders":{"0":-3}}'}, "offset below 0"),
        ({"startingTimestamp": "yesterday"}, "time in milliseconds"),
        ({"endingOffsets": "latest"}, "a stream has no end"),
        ({"maxOffsetsPerTrigger": "0"}, "maxOffsetsPerTrigger must be a whole number above 0"),
        ({"minPartitions": "-1"}, "minPartitions must be a whole number above 0"),
        ({"maxTriggerDelay": "soon"}, "maxTriggerDelay must be a time such as 15m"),
        ({"failOnDataLoss": "maybe"}, "failOnDataLoss must be true or false"),
        ({"isolation": "strict"}, "isolation must be read_committed or read_uncommitted"),
        ({"kafka.isolation.level": "strict"}, "isolation.level must be read_committed or"),
        ({"subscribePattern": "("}, "is no pattern"),
        ({"assign": '{"a":0}'}, "assign is not a mapping"),
        ({"assign": "[]"}, "assign is not a mapping"),
        (
            {"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "8"},
            "minOffsetsPerTrigger 9 is above maxOffsetsPerTrigger 8",
        ),
        ({"kafka.auto.offset.reset": "earliest"}, "cannot be set .*set startingOffsets"),
        ({"kafka.enable.auto.commit": "true"}, "cannot be set .*checkpoint"),
        ({"kafka.Value.Deserializer": "x"}, "value.deserializer cannot be set"),
        ({"valueFormat": "avro", "valueSchema": "id INT"}, "valueFormat must be json or raw"),
        ({"valueSchema": "id INT", "metadata": "colour"}, "metadata has no 'colour'"),
        ({"deadLetterTopic": "x"}, "deadLetterTopic needs a valueFormat"),
        ({"valueSchema": "id INT", "deadLetterTopic": "orders"}, "where they come from"),
        ({"kafka.bootstrap.servers": "host:x"}, "not an address"),
        (
            {"valueSchema": "id INT", "includeHeaders": "true"},
            "includeHeaders is for raw columns .*the column is _headers",
        ),
        ({"valueSchema": "id INT", "metadata": "key,offset,key"}, "metadata names 'key' twice"),
    ],
)
def test_a_bad_option_is_one_sentence(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(InvalidRequest, match=sentence) as raised:
        options(**given)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "bootstrap.server",
            r"no option 'kafka.bootstrap.server' \(hint: meant: kafka.bootstrap.serv",
        ),
        ("Isolation_Level", "hint: meant: kafka.isolation.level"),
        ("securityprotocol", "hint: meant: kafka.security.protocol"),
        ("metadata.broker.list", "hint: meant: kafka.bootstrap.servers"),
        ("nonsense", "there is no option 'kafka.nonsense'"),
        ("ssl.ca.locaton", "there is no option 'kafka.ssl.ca.locaton' .*kafka.ssl.ca.location, "),
        ("ssl.truststore.location", "TLS has kafka.ssl.ca.location, .* in PEM"),
        ("sasl.mechanism", "kafka.sasl.mechanism cannot be set: Spark's side cannot log in yet"),
    ],
)
def test_a_setting_of_kafka_that_does_not_exist_is_not_ignored(name: str, sentence: str) -> None:
    """A query without bootstrap.servers would read another cluster, the one of the folder."""
    with pytest.raises(InvalidRequest, match=sentence):
        SourceOptions.of({"subscribe": "orders", f"kafka.{name}": "x"}, is_stream=True)
    with pytest.raises(InvalidRequest, match=sentence):
        SinkOptions.of({"topic": "orders", f"kafka.{name}": "x"}, is_stream=True)


@pytest.mark.parametrize(
    "name",
    [
        *("group.id", "max.poll.records", "linger.ms", "ssl.ca.location", "ssl.key.password"),
        *("socket.timeout.ms", "broker.address.family", "ssl.endpoint.identification.algorithm"),
    ],
)
def test_a_setting_of_a_client_of_kafka_is_taken(name: str) -> None:
    """Java's, as with Spark's source, and librdkafka's, which a profile has for all that it is used for."""
    assert options(**{f"kafka.{name}": "x"}).log.kafka == {name: "x"}


@pytest.mark.parametrize(
    "assigned",
    ['{"t":[0.7]}', '{"t":[true]}', '{"t":["0"]}', '{"t":"01"}', '{"t":{"0":1}}', '{"t":[]}', "{}"],
)
def test_what_is_no_number_of_a_partition_is_not_taken_for_one(assigned: str) -> None:
    with pytest.raises(InvalidRequest, match="assign is not a mapping of topics to partitions"):
        options(assign=assigned)


@pytest.mark.parametrize("side", ["starting", "ending"])
@pytest.mark.parametrize("time", [-1, -2, 2**63, 99999999999999999999999])
def test_a_time_is_never_a_mark_of_an_offset_nor_beyond_what_a_broker_takes(
    side: str, time: int
) -> None:
    """To brokers, -1 is the end of a partition and -2 its beginning, whatever asks for a time."""
    in_partitions = f'{{"orders":{{"0":1000,"1":{time}}}}}'
    for name, written in (("Timestamp", str(time)), ("OffsetsByTimestamp", in_partitions)):
        with pytest.raises(InvalidRequest, match=f"{side}{name} must be a time in milliseconds"):
            options(is_stream=False, **{f"{side}{name}": written})
    last = options(is_stream=False, **{f"{side}Timestamp": str(2**63 - 1)})
    assert AtTimes(2**63 - 1, f"{side}Timestamp", side == "ending") in (last.starting, last.ending)


def test_a_batch_read_cannot_start_at_the_end() -> None:
    for written in ("latest", '{"orders":{"0":-1}}'):
        with pytest.raises(InvalidRequest, match="cannot start at the latest"):
            options(is_stream=False, startingOffsets=written)


@pytest.mark.parametrize(
    ("written", "expected"),
    [("15m", 900_000), ("10s", 10_000), ("250ms", 250), ("7", 7), ("1 h", 3_600_000)],
)
def test_durations(written: str, expected: int) -> None:
    assert Options({"delay": written}, ["delay"]).duration_ms("delay", "1s") == expected


def test_offsets_are_written_in_one_order_always() -> None:
    offsets = {TopicPartition("b", 0): 1, TopicPartition("a", 10): 2, TopicPartition("a", 9): 3}
    written = to_json(offsets)
    assert list(written) == ["a", "b"]
    assert list(written["a"]) == ["9", "10"]
    assert from_json(written, "test") == offsets


def test_the_first_end_tells_where_the_query_began() -> None:
    written = to_json({ORDERS_0: 9}, first={ORDERS_0: 5})
    assert written == {"orders": {"0": 9}, '(start {"orders": {"0": 5}})': {}}
    assert from_json(written, "test") == {ORDERS_0: 9}
    assert first_start(written, "test") == {ORDERS_0: 5}
    assert first_start(to_json({ORDERS_0: 9}), "test") is None
    assert first_start(to_json({}, first={}), "test") == {}


def test_where_a_query_of_an_earlier_version_began_is_known() -> None:
    written = {"orders": {"0": 9}, "orders (start)": {"0": 5}}
    assert from_json(written, "test") == {ORDERS_0: 9}
    assert first_start(written, "test") == {ORDERS_0: 5}
