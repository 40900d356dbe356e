"""Options and columns of the sink: what cannot be written is one clear sentence, before anything is."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headwater.errors import InvalidRequest
from headwater.streams.sink.options import SinkOptions
from headwater.streams.sink.records import COLUMNS, records_of, refuse_unfit
from streams.schemas import HEADERS

ADDRESS = {"kafka.bootstrap.servers": "localhost:9092"}


def options(*, is_stream: bool = True, **given: str) -> SinkOptions:
    return SinkOptions.of({**ADDRESS, **given}, is_stream=is_stream)


def test_tasks_write_for_themselves_unless_the_batch_is_atomic() -> None:
    assert options(topic="out").staging is None
    assert options(atomic="true", checkpointLocation="/c/").staging == "/c/headwater-staging"
    assert options(atomic="true", stagingDirectory="/s", checkpointLocation="/c").staging == "/s"
    chosen = options(topic="out", **{"kafka.compression.type": "zstd"})
    assert chosen.log.kafka == {"compression.type": "zstd"}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"tipic": "out"}, "there is no option 'tipic'"),
        ({"atomic": "true"}, "needs a folder to stage"),
        ({"atomic": "yes please"}, "atomic must be true or false"),
        ({"kafka.transactional.id": "x"}, "kafka.transactional.id cannot be set"),
        ({"topic": "a", "defaultTopic": "b"}, "defaultTopic has no effect beside topic"),
        ({"onMissingMarker": "hope"}, "onMissingMarker must be fail or write"),
    ],
)
def test_a_bad_option_is_one_sentence(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(InvalidRequest, match=sentence):
        options(**given)


def test_a_batch_write_is_not_atomic() -> None:
    with pytest.raises(InvalidRequest, match="atomic is for streams"):
        options(is_stream=False, atomic="true", checkpointLocation="/c")


def schema(**fields) -> StructType:
    return StructType([StructField(name, kind) for name, kind in fields.items()])


def test_the_columns_of_sparks_kafka_sink_are_taken() -> None:
    refuse_unfit(schema(value=StringType()), "out")
    refuse_unfit(schema(topic=StringType(), value=BinaryType(), key=StringType()), None)
    refuse_unfit(
        schema(
            value=BinaryType(), partition=IntegerType(), headers=HEADERS, timestamp=TimestampType()
        ),
        "out",
    )


@pytest.mark.parametrize(
    ("fields", "topic", "sentence"),
    [
        ({"key": StringType()}, "out", "no column 'value'"),
        ({"value": StringType()}, None, "no topic to write to"),
        ({"value": LongType()}, "out", "'value' is int64, not binary"),
        (
            {"value": StringType(), "partition": LongType()},
            "out",
            "'partition' is int64, not int32",
        ),
        ({"value": StringType(), "headers": StringType()}, "out", "'headers' is string, not list"),
        (
            {
                "value": StringType(),
                "headers": ArrayType(schema(key=StringType(), value=LongType())),
            },
            "out",
            "'headers' is list",
        ),
        ({"value": StringType(), "id": LongType()}, "out", "no use for column 'id'"),
    ],
)
def test_unfit_rows_are_refused(fields, topic, sentence: str) -> None:
    with pytest.raises(InvalidRequest, match=sentence):
        refuse_unfit(schema(**fields), topic)


def test_rows_are_brought_into_one_form() -> None:
    at = datetime(2026, 9, 1, tzinfo=UTC)
    rows = pa.RecordBatch.from_pylist(
        [{"value": "a", "topic": None, "timestamp": at}, {"value": None, "topic": "other"}],
        schema=pa.schema(
            [
                ("value", pa.string()),
                ("topic", pa.string()),
                ("timestamp", pa.timestamp("us", "UTC")),
            ]
        ),
    )
    made = records_of(rows, options(defaultTopic="out"))
    assert made.schema == COLUMNS
    assert made["value"].to_pylist() == [b"a", None]
    assert made["topic"].to_pylist() == ["out", "other"]
    assert made["timestamp"].to_pylist() == [at, None]
    assert made["key"].null_count == 2
    with pytest.raises(InvalidRequest, match="a row has no topic"):
        records_of(rows, options())
    assert records_of(rows, options(topic="all"))["topic"].to_pylist() == ["all", "all"]


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("partition", -1, "a row names partition -1"),
        ("headers", [{"key": None, "value": b"1"}], "a row has a header without a key"),
        ("headers", [None], "a row has a header without a key"),
        ("timestamp", datetime(1969, 12, 31, tzinfo=UTC), "a row has a time before 1970"),
    ],
)
def test_a_row_that_clients_could_not_read_is_refused(
    column: str, value: object, sentence: str
) -> None:
    """Java's client cannot go on behind a header without a key."""
    kind = COLUMNS.field(column).type
    now = datetime(2026, 9, 1, tzinfo=UTC)
    good = {"partition": 0, "headers": [{"key": "h", "value": None}], "timestamp": now}[column]
    for first in (None, good):
        rows = pa.RecordBatch.from_arrays(
            [pa.array(["a", "b"]), pa.array([first, value], kind)], names=["value", column]
        )
        with pytest.raises(InvalidRequest, match=sentence):
            records_of(rows, options(topic="out"))
        assert records_of(rows.slice(0, 1), options(topic="out")).num_rows == 1
