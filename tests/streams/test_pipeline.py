"""Whole pipelines: declared, planned, run, and run again; on the broker under test."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.errors import Conflict, InvalidRequest
from headwater.streams.run.board import Board
from streams.shop import Shop, per_customer


def test_a_view_holds_the_present_value_of_each_key(shop: Shop) -> None:
    shop.pipeline.materialized_view(key="customer", name="totals")(per_customer)
    shop.order((1, 1, 10.0), (2, 2, 5.0), (3, 1, 1.0))
    assert shop.once()["totals"].state == "done"
    assert shop.latest("totals") == {
        '{"customer":1}': {"customer": 1, "total": 11.0},
        '{"customer":2}': {"customer": 2, "total": 5.0},
    }
    shop.order((4, 2, 0.5))
    status = shop.once()["totals"]
    assert (status.rows, status.lag) == (1, 0)
    assert shop.latest("totals")['{"customer":2}'] == {"customer": 2, "total": 5.5}


def test_a_stream_joins_the_table_of_the_moment(shop: Shop) -> None:
    @shop.pipeline.table(key="id")
    def enriched(orders: DataFrame, customers: DataFrame) -> DataFrame:
        named = customers.select(F.col("id").alias("customer"), "name")
        return orders.join(named, "customer", "left").select("id", "name")

    shop.client.send(shop.customers_topic, {"id": 1, "name": "Ada"}, key="1")
    shop.order((1, 1, 10.0), (2, 2, 5.0))
    shop.once()
    shop.client.send(shop.customers_topic, {"id": 2, "name": "Bob"}, key="2")
    shop.order((3, 2, 1.0))
    shop.once()
    names = {row["id"]: row["name"] for row in shop.values("enriched")}
    assert names == {1: "Ada", 2: None, 3: "Bob"}


def test_tables_feed_each_other_within_one_run(shop: Shop) -> None:
    @shop.pipeline.view
    def large(orders: DataFrame) -> DataFrame:
        return orders.filter("total > 1")

    @shop.pipeline.table(key="id")
    def checked(large: DataFrame) -> DataFrame:
        return large.select("id", "customer", "total")

    @shop.pipeline.materialized_view(key="customer")
    def counts(checked: DataFrame) -> DataFrame:
        return checked.groupBy("customer").count()

    shop.order((1, 1, 10.0), (2, 1, 5.0), (3, 2, 0.5))
    assert {each.state for each in shop.once().values()} == {"done"}
    assert shop.latest("counts") == {'{"customer":1}': {"customer": 1, "count": 2}}


def test_rows_that_break_a_rule_are_counted_kept_out_or_set_aside(shop: Shop) -> None:
    @shop.pipeline.table(
        key="id",
        expect={
            "small": "total < 100",
            "positive": ("total >= 0", "quarantine"),
            "known": ("customer IS NOT NULL", "drop"),
        },
    )
    def checked(orders: DataFrame) -> DataFrame:
        return orders.select("id", "customer", "total")

    shop.order((1, 1, 10.0), (2, 1, -5.0), (3, 1, 500.0))
    shop.client.send(shop.orders_topic, {"id": 4, "total": 1.0, "at": "2026-09-01T10:00:00Z"})
    status = shop.once()["checked"]
    assert status.broken == {"small": 1, "positive": 1, "known": 1}
    assert sorted(row["id"] for row in shop.values("checked")) == [1, 3]
    topic = shop.pipeline.topic_of("checked", 1) + ".quarantine"
    with shop.client.consumer(topic, until="end") as records:
        (aside,) = list(records)
    assert (aside.value["id"], dict(aside.headers)) == (2, {"headwater.broken-rules": b"positive"})


def test_a_failing_query_does_not_stop_the_others(shop: Shop) -> None:
    @shop.pipeline.table(key="id", expect={"positive": ("total >= 0", "fail")})
    def strict(orders: DataFrame) -> DataFrame:
        return orders.select("id", "total")

    @shop.pipeline.table(key="id")
    def lenient(orders: DataFrame) -> DataFrame:
        return orders.select("id", "total")

    shop.order((1, 1, -1.0))
    found = shop.once()
    assert (found["strict"].state, found["lenient"].state) == ("failed", "done")
    assert "'positive'" in str(found["strict"].error)
    assert [row["id"] for row in shop.values("lenient")] == [1]


def test_a_change_that_the_checkpoint_cannot_take_is_refused_with_the_choices(shop: Shop) -> None:
    shop.pipeline.materialized_view(key="customer", name="totals")(per_customer)
    shop.order((1, 1, 10.0))
    shop.once()
    renamed = shop.new_pipeline()

    @renamed.materialized_view(key="customer", name="totals")
    def compatible(orders: DataFrame) -> DataFrame:
        return per_customer(orders).withColumn("is_large", F.col("total") > 5)

    shop.once(renamed)
    changed = shop.new_pipeline()

    @changed.materialized_view(key="at", name="totals")
    def incompatible(orders: DataFrame) -> DataFrame:
        return orders.groupBy("at").agg(F.sum("total").alias("total"))

    with pytest.raises(Conflict) as refusal:
        shop.once(changed)
    message = str(refusal.value)
    assert "test_pipeline.py:" in message
    assert all(choice in message for choice in ("version=2", "pipeline reset", "--keep-checkpoint"))


def in_append_mode(orders: DataFrame) -> DataFrame:
    return orders.groupBy("customer").count()


def without_its_key(orders: DataFrame) -> DataFrame:
    return orders.select("id")


def with_a_wrong_column(orders: DataFrame) -> DataFrame:
    return orders.select("totl")


def with_two_of_one_name(orders: DataFrame) -> DataFrame:
    return orders.select("customer", F.col("id").alias("customer"))


def that_is_no_frame(orders: DataFrame) -> Any:
    return orders.columns


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (in_append_mode, ["cannot run as a stream", "materialized_view"]),
        (without_its_key, ["no column 'customer' for its key"]),
        (with_a_wrong_column, ["cannot be planned", "totl"]),
        (with_two_of_one_name, ["two columns 'customer'"]),
        (that_is_no_frame, ["returns list, not a DataFrame"]),
    ],
)
def test_what_spark_would_refuse_later_is_refused_before_anything_runs(
    shop: Shop, body: Callable[..., Any], words: list[str]
) -> None:
    shop.pipeline.table(key="customer", name="wrong")(body)
    with pytest.raises(InvalidRequest) as refusal:
        shop.once()
    message = str(refusal.value)
    assert "test_pipeline.py:" in message
    assert all(word in message for word in words), message


def test_of_two_refusals_that_one_is_told_which_no_other_mode_would_mend(shop: Shop) -> None:
    @shop.pipeline.materialized_view(key="customer")
    def wrong(orders: DataFrame) -> DataFrame:
        return orders.groupBy("customer").agg(F.count_distinct("id").alias("orders"))

    with pytest.raises(InvalidRequest) as refusal:
        shop.runner.plan([shop.pipeline.graph()])
    message = str(refusal.value)
    assert "'wrong' cannot run as a stream: Distinct aggregations are not supported" in message
    assert "SQLSTATE" not in message


def test_a_continuous_run_takes_in_what_comes_pauses_and_goes_on(shop: Shop) -> None:
    shop.pipeline.materialized_view(key="customer", name="totals")(per_customer)
    shop.order((1, 1, 10.0))
    board = Board(shop.client)
    with shop.running() as run:
        run.wait_for("totals", lambda status: status.rows == 1)
        shop.order((2, 1, 1.0))
        name = run.wait_for("totals", lambda status: status.rows == 2).name
        board.wish([name], paused=True)
        run.wait_for("totals", lambda status: status.state == "paused")
        board.wish([name], paused=False)
        shop.order((3, 1, 1.0))
        status = run.wait_for(
            "totals", lambda status: status.rows == 3 and status.state == "running"
        )
    assert list(status.positions) == [shop.orders_topic]
    assert sum(status.positions[shop.orders_topic].values()) == 3
    assert shop.latest("totals") == {'{"customer":1}': {"customer": 1, "total": 12.0}}
    published = {each.name: each for each in board.statuses()}
    assert published[name].state == "stopped"


def test_a_paused_query_also_rests_in_a_run_of_one_time(shop: Shop) -> None:
    shop.pipeline.table(name="copied")(lambda orders: orders.select("id"))
    shop.pipeline.table(name="seen")(lambda orders: orders.select("id"))
    board = Board(shop.client)
    paused = f"{shop.pipeline.name}.copied"
    board.wish([paused], paused=True)
    shop.order((1, 1, 10.0))
    found = {name: each.state for name, each in shop.once().items()}
    assert found == {"copied": "paused", "seen": "done"}
    board.wish([paused], paused=False)
    assert {each.state for each in shop.once().values()} == {"done"}
    assert shop.values("copied") == shop.values("seen") == [{"id": 1}]


def test_a_running_query_sees_the_rows_that_its_table_got_since_it_began(shop: Shop) -> None:
    @shop.pipeline.materialized_view(key="id")
    def enriched(orders: DataFrame, customers: DataFrame) -> DataFrame:
        named = customers.select(F.col("id").alias("customer"), "name")
        return orders.join(named, "customer", "left").select("id", "name")

    shop.client.send(shop.customers_topic, {"id": 1, "name": "Ada"}, key="1")
    shop.order((1, 1, 10.0))
    with shop.running() as run:
        run.wait_for("enriched", lambda status: status.rows == 1)
        shop.client.send(shop.customers_topic, {"id": 2, "name": "Bob"}, key="2")
        shop.order((2, 2, 5.0))
        run.wait_for("enriched", lambda status: status.rows == 2)
    assert [each["name"] for each in shop.latest("enriched").values()] == ["Ada", "Bob"]


def test_a_query_that_names_the_last_row_of_a_key_keeps_it_through_a_join(shop: Shop) -> None:
    """What docs/pipelines.md advises where a key comes twice in a batch: a join moves rows about."""

    @shop.pipeline.materialized_view(key="id")
    def enriched(orders: DataFrame, customers: DataFrame) -> DataFrame:
        newest = F.max_by(F.struct("customer", "total"), "at").alias("last")
        last = orders.groupBy("id").agg(newest).select("id", "last.*")
        named = customers.select(F.col("id").alias("customer"), "name")
        return last.join(named, "customer", "left")

    for customer in range(20):
        row = {"id": customer, "name": f"c{customer}"}
        shop.client.send(shop.customers_topic, row, key=str(customer))
    with shop.client.producer() as producer:
        for second, customer in enumerate((9, 2)):
            for number in range(10):
                at = f"2026-09-01T10:00:{second:02d}Z"
                order = {"id": number, "customer": customer + number, "total": 1.0, "at": at}
                producer.send(shop.orders_topic, order, key=str(number))
    shop.once()
    found = {row["id"]: row["name"] for row in shop.latest("enriched").values()}
    assert found == {number: f"c{2 + number}" for number in range(10)}


def test_the_definition_of_a_view_is_published(shop: Shop) -> None:
    @shop.pipeline.materialized_view(key=["minute", "customer"])
    def revenue(orders: DataFrame) -> DataFrame:
        """Revenue per minute."""
        minute = F.window("at", "1 minute").alias("minute")
        return orders.groupBy(minute, "customer").agg(F.sum("total").alias("total"))

    shop.order((1, 1, 10.0))
    shop.once()
    with shop.client.consumer("__headwater.views", until="end") as records:
        values = [each.value for each in records if each.value is not None]
    (found,) = [each for each in values if each["pipeline"] == shop.pipeline.name]
    assert found["key"] == ["minute", "customer"]
    assert [(each["name"], each["type"]) for each in found["columns"]] == [
        ("minute", "timestamp"),
        ("minute_end", "timestamp"),
        ("customer", "bigint"),
        ("total", "double"),
    ]
    key = json.dumps(
        {"minute": "2026-09-01T10:01:00.000000Z", "customer": 1}, separators=(",", ":")
    )
    assert shop.latest("revenue")[key]["total"] == 10.0
