"""Make `format("headwater")` known to a Spark session."""

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headwater.streams.data_source import HeadwaterDataSource

BOOTSTRAP_OPTION: Final = "kafka.bootstrap.servers"


def register(spark: "SparkSession", log: Mapping[str, str] | None = None) -> None:
    """After this, `spark.read`, `readStream`, `write` and `writeStream` know `format("headwater")`.

    `log` are the options (`kafka.*`) with which those that name no broker reach theirs; without it, that
    is the broker of this folder.

    On a local master, Python workers run in this interpreter's environment, where Headwater is installed;
    elsewhere set PYSPARK_PYTHON before the session starts.
    """
    from headwater.streams.changelog.data_source import ChangelogDataSource  # noqa: PLC0415
    from headwater.streams.data_source import HeadwaterDataSource  # noqa: PLC0415

    context = spark.sparkContext
    if (context.master or "").startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable
    spark.dataSource.register(_reaching(log) if log else HeadwaterDataSource)
    spark.dataSource.register(ChangelogDataSource)


def _reaching(log: Mapping[str, str]) -> "type[HeadwaterDataSource]":
    """It travels to Spark's workers with what it knows: they see no settings of the session."""
    from headwater.streams.data_source import HeadwaterDataSource  # noqa: PLC0415

    known = dict(log)

    class OfThisRun(HeadwaterDataSource):
        def __init__(self, options: dict[str, str]) -> None:
            # The keys of one broker are not for another.
            is_named = BOOTSTRAP_OPTION in options
            super().__init__(options if is_named else {**known, **options})

    return OfThisRun
