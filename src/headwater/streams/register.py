"""Make `format("headwater")` known to a Spark session."""

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: "SparkSession") -> None:
    """After this, `spark.read`, `readStream`, `write` and `writeStream` know `format("headwater")`.

    On a local master, Python workers run in this interpreter's environment, where Headwater is installed;
    elsewhere set PYSPARK_PYTHON before the session starts.
    """
    from headwater.streams.changelog.data_source import ChangelogDataSource  # noqa: PLC0415
    from headwater.streams.data_source import HeadwaterDataSource  # noqa: PLC0415

    context = spark.sparkContext
    if (context.master or "").startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable
    for each in (HeadwaterDataSource, ChangelogDataSource):
        spark.dataSource.register(each)
