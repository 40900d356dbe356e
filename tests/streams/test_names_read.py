"""What a body reads by name is drawn as well: a graph of Spark's own pipelines is not empty."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from headwater.streams.discovery import find_pipelines
from headwater.streams.graph import joints_of
from headwater.streams.names_read import names_read
from headwater.streams.pipeline import Pipeline

spark: Any = None
OF_THE_FILE = "of_the_file"


def by_table() -> DataFrame:
    return (
        spark.read.table("a")
        .join(spark.readStream.table("cat.`db`.b"), "id")
        .join(spark.table("a"))
    )


def by_keyword() -> DataFrame:
    return spark.read.table(tableName="a")


def by_sql() -> DataFrame:
    return spark.sql("SELECT x FROM STREAM(a) JOIN db.b USING (id) WHERE y IN (SELECT y FROM `c`)")


def by_a_name_of_the_file() -> DataFrame:
    return spark.read.table(OF_THE_FILE)


def by_another_function() -> DataFrame:
    return by_table().union(by_keyword())


def by_itself() -> DataFrame:
    return by_itself().union(spark.table("a"))


def within() -> DataFrame:
    def inner() -> DataFrame:
        return spark.table("a")

    return inner()


def by_its_default(source: str = "a") -> DataFrame:
    return spark.table(source)


def by_no_name(x: str) -> DataFrame:
    return spark.table(f"{x}s").select("table").alias("a").by_table


def made_for(source: str) -> Callable[[], DataFrame]:
    def made() -> DataFrame:
        return spark.readStream.table(source)

    return made


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (by_table, ("a", "b")),
        (by_keyword, ("a",)),
        (by_sql, ("a", "b", "c")),
        (by_a_name_of_the_file, ("of_the_file",)),
        (by_another_function, ("a", "b")),
        (by_itself, ("a",)),
        (within, ("a",)),
        (by_its_default, ("a",)),
        (made_for("a"), ("a",)),
        (lambda: spark.table("a"), ("a",)),
        (by_no_name, ()),
        (print, ()),
    ],
)
def test_names_are_told_from_the_code(body: Callable[..., object], names: tuple[str, ...]) -> None:
    assert names_read(body) == names


FOR_SPARK = """
from pyspark import pipelines as dp

@dp.temporary_view
def raw():
    return spark.readStream.format("headwater").option("subscribe", "orders").load()

dp.create_streaming_table("paid")

for each in ("web", "shop"):
    @dp.append_flow(target="paid", name=each)
    def _():
        return spark.readStream.table("raw")

@dp.materialized_view
def spent():
    return spark.sql("SELECT who, sum(amount) FROM paid GROUP BY who").join(spark.table("other"), "who")
"""


def test_the_graph_of_a_file_for_sparks_own_pipelines_has_its_edges(tmp_path: Path) -> None:
    (tmp_path / "sales.py").write_text(FOR_SPARK)
    (pipeline,) = find_pipelines(tmp_path / "sales.py")
    assert list(pipeline.graph().edges()) == [("raw", "paid"), ("paid", "spent")]


def test_all_parts_of_a_statement_are_looked_at(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "sales.sql").write_text(
        "CREATE MATERIALIZED VIEW `b_b` AS SELECT 1 AS x; CREATE MATERIALIZED VIEW c AS SELECT 2 AS x;"
        "CREATE MATERIALIZED VIEW a AS WITH c1 AS (SELECT x FROM db.c)"
        "SELECT x FROM c1 WHERE x IN (SELECT x FROM `b_b`)"
    )
    (pipeline,) = find_pipelines(tmp_path / "sales.sql", lambda: spark)
    assert set(pipeline.graph().edges()) == {("c", "a"), ("b_b", "a")}


def test_pipelines_are_joined_by_the_topics_that_one_writes_and_another_reads() -> None:
    first, second = Pipeline("first"), Pipeline("second")
    first.topic("orders", schema="id LONG")
    first.table(name="copied")(lambda orders: orders)
    second.topic("first.copied", schema="id LONG")
    second.table(name="large")(lambda copied: copied)
    graphs = [second.graph(), first.graph()]
    (joint,) = joints_of(graphs)
    assert (joint.writer, joint.output, joint.reader, joint.name) == (
        graphs[1],
        "copied",
        graphs[0],
        "copied",
    )
