"""A driver to be killed: three queries over one topic, by task, atomic and stateful.

Usage: campaign_driver.py BOOTSTRAP STATE [--to-the-end]. Prints a line for each batch that is finished.
"""
# ruff: noqa: T201 - this is a program

import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.streams import register
from headwater.streams.sink.foreach_batch import into_topic

MAX_OFFSETS = "700"


def main() -> None:
    bootstrap, state = sys.argv[1], Path(sys.argv[2])
    to_the_end = "--to-the-end" in sys.argv
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "OFF")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(state / "warehouse"))
        .getOrCreate()
    )
    register(spark)
    address = {"kafka.bootstrap.servers": bootstrap}
    events = (
        spark.readStream.format("headwater")
        .options(**address, subscribe="in", startingOffsets="earliest")
        .option("maxOffsetsPerTrigger", MAX_OFFSETS)
        .load()
    )
    totals = (
        events.groupBy("key").count().select("key", F.col("count").cast("string").alias("value"))
    )
    queries = [
        start("copied", events.select("key", "value"), address, state, to_the_end),
        start("atomic", events.select("key", "value"), address, state, to_the_end, atomic="true"),
        start("totals", totals, address, state, to_the_end, update=True),
    ]
    told = dict.fromkeys(range(len(queries)), -1)
    while any(each.isActive for each in queries):
        for number, query in enumerate(queries):
            progress = query.lastProgress
            if progress is not None and progress["batchId"] > told[number]:
                told[number] = progress["batchId"]
                print(f"{query.name} {progress['batchId']} {progress['numInputRows']}", flush=True)
        time.sleep(0.1)
    for query in queries:
        query.awaitTermination()


def start(
    name: str,
    frame: DataFrame,
    address: dict[str, str],
    state: Path,
    to_the_end: bool,
    *,
    update: bool = False,
    **options: str,
) -> Any:
    checkpoint = str(state / name)
    given = {**address, "topic": name, "checkpointLocation": checkpoint, **options}
    writing = frame.writeStream.queryName(name).option("checkpointLocation", checkpoint)
    if to_the_end:
        writing = writing.trigger(availableNow=True)
    if update:
        return writing.outputMode("update").foreachBatch(into_topic(given)).start()
    return writing.format("headwater").options(**given).start()


if __name__ == "__main__":
    main()
