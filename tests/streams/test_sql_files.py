"""Pipelines in SQL files, as Spark's declarative pipelines have them."""

from pathlib import Path

import pytest
from pyspark.pipelines import init_cli
from pyspark.sql import SparkSession

import headwater as hw
from headwater.errors import InvalidRequest, NotSupported
from headwater.streams.datasets import MaterializedView
from headwater.streams.discovery import find_pipelines
from headwater.streams.user_files import NeedsSpark

SHOP = """\
-- What is paid, by customer.
CREATE STREAMING TABLE paid (customer STRING, amount BIGINT) COMMENT 'payments';

CREATE FLOW web AS INSERT INTO paid BY NAME
SELECT customer, amount FROM STREAM(payments) WHERE amount > 0;

CREATE TEMPORARY VIEW large (who, amount) AS SELECT customer, amount FROM STREAM paid WHERE amount > 10;

SET spark.sql.shuffle.partitions = 1;
CREATE MATERIALIZED VIEW spent TBLPROPERTIES ('headwater.key' = 'who') AS
SELECT who, sum(amount) AS total FROM large GROUP BY who;
"""


def test_the_example_that_spark_itself_writes_runs_as_it_is(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    init_cli.init("sales")
    (pipeline,) = find_pipelines(tmp_path / "sales")
    found = hw.testing.run(pipeline, feed={}, spark=spark)
    assert sorted(row["id"] for row in found["example_python_materialized_view"]) == [*range(10)]
    assert sorted(row["id"] for row in found["example_sql_materialized_view"]) == [0, 2, 4, 6, 8]


def test_tables_flows_and_views_in_sql_are_kept_as_streams(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "shop.sql").write_text(SHOP)
    (pipeline,) = find_pipelines(tmp_path / "shop.sql")
    pipeline.topic("payments", schema="customer STRING, amount BIGINT")
    graph = pipeline.graph()
    spent, (web, totals) = graph.datasets["spent"], graph.queries
    assert isinstance(spent, MaterializedView)
    assert (spent.key, str(spent.location)) == (("who",), f"{tmp_path / 'shop.sql'}:10")
    assert (web.name, web.target, web.spark_conf) == ("web", "paid", {})
    assert totals.spark_conf == {"spark.sql.shuffle.partitions": "1"}
    assert [*graph.edges()] == [("payments", "paid"), ("paid", "large"), ("large", "spent")]
    payments = [("ann", 20), ("bob", 5), ("ann", 11), ("cid", -3)]
    feed = [[{"customer": who, "amount": amount}] for who, amount in payments]
    found = hw.testing.run(pipeline, feed=[{"payments": each} for each in feed], spark=spark)
    assert [row["customer"] for row in found["paid"]] == ["ann", "bob", "ann"]
    assert found["spent"] == [{"who": "ann", "total": 31}]


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("\n\nCREATE MATERIALIZED VIW a AS SELECT 1 AS b", InvalidRequest, r":3: .* near 'VIW'"),
        ("SELECT 1", NotSupported, ":1: this statement is no part of a pipeline"),
        ("\nCREATE VIEW a AS SELECT 1 AS b", NotSupported, ":2: this statement is no part"),
        (
            "CREATE STREAMING TABLE a;\nCREATE FLOW f AS INSERT INTO a SELECT 1",
            NotSupported,
            ":2: ",
        ),
        (
            "CREATE FLOW f AS INSERT OVERWRITE a BY NAME SELECT 1 AS b",
            NotSupported,
            ":1: a flow appends rows",
        ),
        (
            "CREATE FLOW f AS AUTO CDC INTO a FROM STREAM(b) KEYS (id) SEQUENCE BY id",
            NotSupported,
            r":1: .*\(AUTO CDC in SQL\) is not supported",
        ),
        (
            "CREATE STREAMING TABLE a FLOW AUTO CDC FROM STREAM(b) KEYS (id) SEQUENCE BY id",
            NotSupported,
            r":1: .*\(AUTO CDC in SQL\) is not supported",
        ),
        (
            "CREATE FLOW f AS INSERT INTO a PARTITION (c = 1) BY NAME SELECT 1 AS b",
            NotSupported,
            ":1: a flow appends rows",
        ),
        (
            "\nCREATE MATERIALIZED VIEW a AS SELECT b FROM nowhere",
            InvalidRequest,
            r":2: 'a' cannot be planned: .*nowhere",
        ),
    ],
)
def test_mistakes_in_sql_are_one_sentence_with_their_line(
    spark: SparkSession, tmp_path: Path, text: str, kind: type[Exception], words: str
) -> None:
    (tmp_path / "a.sql").write_text(text)
    with pytest.raises(kind, match=words) as refused:
        hw.testing.run(find_pipelines(tmp_path / "a.sql")[0], feed={}, spark=spark)
    assert "\n" not in str(refused.value).partition("\nhint:")[0]


@pytest.mark.usefixtures("spark")
def test_a_file_in_sql_asks_for_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.sql").write_text("CREATE MATERIALIZED VIEW a AS SELECT 1 AS b")
    with monkeypatch.context() as without:
        without.setattr(SparkSession, "getActiveSession", lambda: None)
        with pytest.raises(NeedsSpark):
            find_pipelines(tmp_path / "a.sql")
    (pipeline,) = find_pipelines(tmp_path / "a.sql")
    assert [each.name for each in pipeline.graph().queries] == ["a"]
