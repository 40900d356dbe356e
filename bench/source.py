"""Measure what Spark reads: our source on our broker, Spark's Kafka connector on Apache Kafka.

python bench/source.py            the numbers of docs/benchmarks.md, some minutes
python bench/source.py --quick    a look
python bench/source.py --render   docs/benchmarks.md again, from the last run's JSON
"""

import sys
import time
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import load
import page
from events import FEW_COLUMNS, SCHEMA
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from results import Measure
from runs import Run, arguments
from spark_sides import AGAINST, PARTITIONS, Side, spark_sides
from watch import apart

TOPIC: Final = "orders"
ROUNDS: Final = 3
RECORDS: Final = 1_000_000
QUICK_RECORDS: Final = 300_000
TARGETS: Final = {
    "raw columns": 1.0,
    "JSON to 12 typed columns": 3.0,
    "JSON to 5 of its columns": 3.0,
}


def measure_of(name: str) -> Measure:
    return Measure("MB/s", TARGETS[name], is_more_better=True)


def raw(spark: SparkSession, side: Side) -> DataFrame:
    return side.read(spark, TOPIC)


def typed(spark: SparkSession, side: Side, schema: str) -> DataFrame:
    if side.is_ours:
        return side.read(spark, TOPIC, valueSchema=schema)
    parsed = F.from_json(F.col("value").cast("string"), schema).alias("order")
    return side.read(spark, TOPIC).select(parsed).select("order.*")


READS: Final = {
    "raw columns": raw,
    "JSON to 12 typed columns": lambda spark, side: typed(spark, side, SCHEMA),
    "JSON to 5 of its columns": lambda spark, side: typed(spark, side, FEW_COLUMNS),
}


def seconds_of(rows: DataFrame) -> float:
    """Make every column of every row, and throw it away."""
    began = time.monotonic()
    rows.write.format("noop").mode("overwrite").save()
    return time.monotonic() - began


def check(spark: SparkSession, side: Side, records: int, size_bytes: int) -> None:
    """Both sides see the same; this also warms them up."""
    (read,) = raw(spark, side).agg(F.count("*"), F.sum(F.length("value"))).collect()
    assert tuple(read) == (records, size_bytes), (side, read)
    (parsed,) = typed(spark, side, SCHEMA).agg(F.sum("id"), F.count("note")).collect()
    assert tuple(parsed) == (records * (records - 1) // 2, records), (side, parsed)


def main() -> None:
    asked = arguments(__doc__.splitlines()[0]).parse_args()
    if asked.render:
        page.write()
        return
    run = Run("source", measure_of, asked)
    run.found.against, run.found.is_median = AGAINST, True
    records = QUICK_RECORDS if asked.quick else RECORDS
    with spark_sides(run) as (spark, sides):
        for side in sides:
            load.create_topic(side.bootstrap, TOPIC, PARTITIONS)
            size_bytes = apart(load.fill, side.bootstrap, TOPIC, records)
            check(spark, side, records, size_bytes)
        for _ in range(1 if asked.quick else ROUNDS):
            for name, read in READS.items():
                for side in sides:
                    seconds = seconds_of(read(spark, side))
                    run.reporter(side.name)(name, size_bytes / seconds / 1e6)
    run.finish(is_whole=not asked.quick and not asked.only)


if __name__ == "__main__":
    main()
