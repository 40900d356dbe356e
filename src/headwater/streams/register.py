"""Make `format("headwater")` known to a Spark session."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headwater.streams.data_source import HeadwaterDataSource

BOOTSTRAP_OPTION: Final = "kafka.bootstrap.servers"


def register(spark: "SparkSession") -> None:
    """After this, `spark.read`, `readStream`, `write` and `writeStream` know `format("headwater")`.

    Those that name no broker reach that of this folder.

    On a local master, Python workers run in this interpreter's environment, where Headwater is installed;
    elsewhere set PYSPARK_PYTHON before the session starts.
    """
    from headwater.streams.changelog.data_source import ChangelogDataSource  # noqa: PLC0415
    from headwater.streams.data_source import HeadwaterDataSource  # noqa: PLC0415
    from headwater.streams.whole.data_source import WholeDataSource  # noqa: PLC0415

    context = spark.sparkContext
    if (context.master or "").startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable
    spark.dataSource.register(HeadwaterDataSource)
    spark.dataSource.register(ChangelogDataSource)
    spark.dataSource.register(WholeDataSource)


@contextmanager
def default_log(spark: "SparkSession", log: Mapping[str, str]) -> Iterator[None]:
    """What is read meanwhile without naming a broker reaches the one of these options (`kafka.*`)."""
    spark.dataSource.register(_reaching(log))
    try:
        yield
    finally:
        register(spark)


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
