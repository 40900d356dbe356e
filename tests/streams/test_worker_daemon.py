"""The Python workers of our sessions."""

import gc
from collections.abc import Iterator

import pyarrow as pa


def test_what_a_worker_has_imported_is_not_looked_through_after_each_task(spark) -> None:
    def frozen_objects(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.record_batch({"count": [gc.get_freeze_count()]})

    rows = spark.range(1, numPartitions=1).mapInArrow(frozen_objects, "count BIGINT")
    counts = [rows.collect()[0]["count"] for _ in range(3)]

    assert counts[-1] > 10_000
