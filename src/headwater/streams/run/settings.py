"""Spark settings of one flow (`spark_conf=`): in force while it is planned and started, for it alone.

A stream takes a copy of the session along when it starts; what is run again and again gets one here.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headwater.errors import InvalidRequest
from headwater.streams.datasets import Flow


@contextmanager
def in_force(flow: Flow, spark: SparkSession) -> Iterator[None]:
    """Raises `InvalidRequest` for a setting that cannot change while Spark runs."""
    before: dict[str, str | None] = {}
    try:
        for name, value in flow.spark_conf.items():
            old = spark.conf.get(name, None)
            _set(flow, spark, name, value)
            before[name] = old
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


def in_own_session(frame: DataFrame, spark: SparkSession) -> DataFrame:
    """The same query in a session that keeps the settings of this moment."""
    jvm = spark._jvm  # noqa: SLF001
    assert jvm is not None
    session = spark._jsparkSession.cloneSession()  # noqa: SLF001
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
    moved = jvm.org.apache.spark.sql.classic.Dataset.ofRows(session, plan)
    return DataFrame(moved, SparkSession(spark.sparkContext, session))


def _set(flow: Flow, spark: SparkSession, name: str, value: str) -> None:
    try:
        spark.conf.set(name, value)
    except PySparkException as error:
        raise InvalidRequest(
            f"{flow.location}: {flow.name!r} cannot have {name!r} = {value!r} of its own",
            hint="if it is a setting of Spark as a whole, put it into a profile: spark_conf = { ... }",
        ) from error
