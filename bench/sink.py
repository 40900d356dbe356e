"""Measure what Spark writes: our sink, exactly once, on our broker; Spark's Kafka sink on Apache Kafka.

python bench/sink.py            the numbers of docs/benchmarks.md, some minutes
python bench/sink.py --quick    a look
python bench/sink.py --render   docs/benchmarks.md again, from the last run's JSON
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import load
import page
import pyarrow as pa
import pyarrow.parquet as pq
from events import KEYS, orders
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from results import Measure
from runs import Run, arguments
from spark_sides import AGAINST, PARTITIONS, Side, spark_sides

ROUNDS: Final = 3
WARM_UP_RECORDS: Final = 50_000
RECORDS: Final = {"1 KiB": 1_000_000, "100 B": 2_000_000}
QUICK_RECORDS: Final = {"1 KiB": 200_000, "100 B": 400_000}
ROWS_PER_GROUP: Final = 50_000
SCHEMA: Final = "key BINARY, value BINARY"
WRITE: Final = Measure("MB/s", 0.8, is_more_better=True)


def small(count: int) -> Iterator[tuple[bytes, bytes]]:
    return ((b"%d" % (number % KEYS), os.urandom(100)) for number in range(count))


MAKERS: Final = {"1 KiB": orders, "100 B": small}


class Files:
    """Keys and values in Parquet files: the same for both sides, and cheap for Spark to read."""

    def __init__(self, directory: Path, size: str, count: int) -> None:
        self._path = directory / f"{size}, {count}"
        self._path.mkdir()
        self.count = count
        records = MAKERS[size](count)
        self.size_bytes = sum(self._write(each, records) for each in range(PARTITIONS))

    def read_stream(self, spark: SparkSession) -> DataFrame:
        return spark.readStream.schema(SCHEMA).parquet(str(self._path))

    def _write(self, number: int, records: Iterator[tuple[bytes, bytes]]) -> int:
        keys, values = zip(*islice(records, self.count // PARTITIONS), strict=True)
        table = pa.table({"key": pa.array(keys), "value": pa.array(values)})
        file = self._path / f"{number}.parquet"
        pq.write_table(table, file, row_group_size=ROWS_PER_GROUP, compression="none")
        return sum(map(len, values))


def write(spark: SparkSession, side: Side, files: Files) -> float:
    """MB/s of values into a topic of its own, which is looked at afterwards."""
    topic = "written"
    load.create_topic(side.bootstrap, topic, PARTITIONS)
    seconds = side.write_all(files.read_stream(spark), topic)
    found = side.read(spark, topic).agg(F.count("*"), F.sum(F.length("value"))).first()
    assert found == (files.count, files.size_bytes), (side, found)
    load.delete_topic(side.bootstrap, topic)
    return files.size_bytes / seconds / 1e6


def main() -> None:
    asked = arguments(__doc__.splitlines()[0]).parse_args()
    if asked.render:
        page.write()
        return
    run = Run("sink", lambda _: WRITE, asked)
    run.found.against, run.found.is_median = AGAINST, True
    counts = QUICK_RECORDS if asked.quick else RECORDS
    with tempfile.TemporaryDirectory() as name, spark_sides(run) as (spark, sides):
        directory = Path(name)
        inputs = {size: Files(directory, size, count) for size, count in counts.items()}
        warm_up = Files(directory, "1 KiB", WARM_UP_RECORDS)
        for side in sides:
            write(spark, side, warm_up)
        for _ in range(1 if asked.quick else ROUNDS):
            for size, files in inputs.items():
                for side in sides:
                    report = run.reporter(side.name)
                    report(f"write {size} records", write(spark, side, files))
    run.finish(is_whole=not asked.quick and not asked.only)


if __name__ == "__main__":
    main()
