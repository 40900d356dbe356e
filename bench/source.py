"""Measure what Spark reads: our source on our broker, Spark's Kafka connector on Apache Kafka.

python bench/source.py            the numbers of docs/benchmarks.md, some minutes
python bench/source.py --quick    a look
python bench/source.py --render   docs/benchmarks.md again, from the last run's JSON
"""

import sys
import time
from pathlib import Path
from typing import Final, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import load
import page
from events import CLICK_COLUMNS, FEW_COLUMNS, SCHEMA, clicks, orders
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from results import Measure
from runs import Run, arguments
from spark_sides import AGAINST, PARTITIONS, Side, spark_sides
from watch import apart

ROUNDS: Final = 3
QUICK_SHARE: Final = 4


class Read(NamedTuple):
    """All records of a topic: raw columns, or those of a schema."""

    topic: str
    schema: str | None
    target: float


TOPICS: Final = {"orders": (orders, 1_000_000), "clicks": (clicks, 3_000_000)}
READS: Final = {
    "1 KiB, raw columns": Read("orders", None, 1.0),
    "1 KiB, JSON to 12 typed columns": Read("orders", SCHEMA, 3.0),
    "1 KiB, JSON to 5 of its columns": Read("orders", FEW_COLUMNS, 3.0),
    "100 B, raw columns": Read("clicks", None, 1.0),
    "100 B, JSON to 5 typed columns": Read("clicks", CLICK_COLUMNS, 3.0),
}


def measure_of(name: str) -> Measure:
    return Measure("MB/s", READS[name].target, is_more_better=True)


def rows_of(spark: SparkSession, side: Side, topic: str, schema: str | None) -> DataFrame:
    if schema is None:
        return side.read(spark, topic)
    if side.is_ours:
        return side.read(spark, topic, valueSchema=schema)
    parsed = F.from_json(F.col("value").cast("string"), schema).alias("event")
    return side.read(spark, topic).select(parsed).select("event.*")


def seconds_of(rows: DataFrame) -> float:
    """Make every column of every row, and throw it away."""
    began = time.monotonic()
    rows.write.format("noop").mode("overwrite").save()
    return time.monotonic() - began


def check(spark: SparkSession, side: Side, read: Read, records: int, size_bytes: int) -> None:
    """Both sides see the same; this also warms them up."""
    (raw,) = (
        rows_of(spark, side, read.topic, None).agg(F.count("*"), F.sum(F.length("value"))).collect()
    )
    assert tuple(raw) == (records, size_bytes), (side, raw)
    (parsed,) = (
        rows_of(spark, side, read.topic, read.schema)
        .agg(F.sum("id"), F.count("customer"), F.count("at"))
        .collect()
    )
    assert tuple(parsed) == (records * (records - 1) // 2, records, records), (side, parsed)


def main() -> None:
    asked = arguments(__doc__.splitlines()[0]).parse_args()
    if asked.render:
        page.write()
        return
    run = Run("source", measure_of, asked)
    run.found.against, run.found.is_median = AGAINST, True
    sizes: dict[str, int] = {}
    with spark_sides(run) as (spark, sides):
        for side in sides:
            for topic, (events, count) in TOPICS.items():
                records = count // (QUICK_SHARE if asked.quick else 1)
                load.create_topic(side.bootstrap, topic, PARTITIONS)
                sizes[topic] = apart(load.fill, side.bootstrap, topic, events, records)
                typed = next(each for each in READS.values() if each.topic == topic and each.schema)
                check(spark, side, typed, records, sizes[topic])
        for _ in range(1 if asked.quick else ROUNDS):
            for name, read in READS.items():
                for side in sides:
                    seconds = seconds_of(rows_of(spark, side, read.topic, read.schema))
                    run.reporter(side.name)(name, sizes[read.topic] / seconds / 1e6)
    run.finish(is_whole=not asked.quick and not asked.only)


if __name__ == "__main__":
    main()
