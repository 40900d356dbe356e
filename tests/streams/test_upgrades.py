"""A pipeline that is changed and started again on the checkpoint of what it was."""

import json
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from headwater.errors import Conflict
from headwater.streams.pipeline import Pipeline
from streams.shop import Shop, per_customer

pytestmark = pytest.mark.long


def per_day(orders: DataFrame) -> DataFrame:
    return orders.groupBy(F.to_date("at").alias("day")).agg(F.sum("total").alias("total"))


def with_view(shop: Shop, body: object, key: str, version: int = 1) -> Pipeline:
    pipeline = shop.new_pipeline()
    pipeline.materialized_view(key=key, name="totals", version=version)(body)
    return pipeline


def test_another_filter_and_one_more_column_go_on_without_loss_or_doubling(shop: Shop) -> None:
    @shop.pipeline.table(key="id", name="large")
    def before(orders: DataFrame) -> DataFrame:
        return orders.filter("total > 1").select("id", "total")

    shop.order((1, 1, 10.0), (2, 1, 1.5), (3, 2, 0.5))
    shop.once()
    changed = shop.new_pipeline()

    @changed.table(key="id", name="large")
    def after(orders: DataFrame) -> DataFrame:
        return orders.filter("total > 2").select("id", "total", "customer")

    shop.order((4, 7, 1.5), (5, 7, 2.5))
    assert shop.once(changed)["large"].state == "done"
    rows = sorted(shop.values("large"), key=lambda row: row["id"])
    assert rows == [
        {"id": 1, "total": 10.0},
        {"id": 2, "total": 1.5},
        {"id": 5, "total": 2.5, "customer": 7},
    ]


def test_one_more_column_of_an_aggregation_goes_on_with_what_was_added_up(shop: Shop) -> None:
    shop.order((1, 1, 10.0))
    shop.once(with_view(shop, per_customer, "customer"))
    changed = with_view(
        shop,
        lambda orders: per_customer(orders).withColumn("is_large", F.col("total") > 5),
        "customer",
    )
    shop.order((2, 1, 1.0))
    shop.once(changed)
    row = {"customer": 1, "total": 11.0, "is_large": True}
    assert shop.latest("totals") == {'{"customer":1}': row}


def test_a_batch_that_was_written_before_the_change_is_not_written_again_in_another_form(
    shop: Shop,
) -> None:
    """The driver died after the rows were written and before Spark noted it; then came the change."""

    @shop.pipeline.table(key="id", name="large")
    def before(orders: DataFrame) -> DataFrame:
        return orders.filter("total > 1").select("id", "total")

    shop.order((1, 1, 10.0))
    shop.once()
    shop.order(*((number, 1, 2.0 + number % 2) for number in range(2, 10)))
    shop.once()
    (commits,) = shop.folder.glob("*/large.v1/spark/commits")
    for each in (commits / "1", commits / ".1.crc"):
        each.unlink(missing_ok=True)
    changed = shop.new_pipeline()

    @changed.table(key="id", name="large")
    def after(orders: DataFrame) -> DataFrame:
        return orders.filter("total > 2").select("id", "total")

    status = shop.once(changed)["large"]
    assert status.state == "failed"
    assert "comes again with other rows" in str(status.error)
    assert "run it once as it was before" in str(status.error)
    assert shop.once()["large"].state == "done"
    assert shop.once(changed)["large"].state == "done"
    shop.order((10, 1, 2.0), (11, 1, 3.0))
    shop.once(changed)
    assert sorted(row["id"] for row in shop.values("large")) == [*range(1, 10), 11]


def test_a_refused_change_leaves_everything_as_it_was(shop: Shop) -> None:
    shop.order((1, 1, 10.0))
    before = with_view(shop, per_customer, "customer")
    shop.once(before)
    with pytest.raises(Conflict, match="does not fit"):
        shop.once(with_view(shop, per_day, "day"))
    shop.order((2, 1, 1.0))
    shop.once(before)
    assert shop.latest("totals") == {'{"customer":1}': {"customer": 1, "total": 11.0}}


def test_a_new_version_is_written_beside_the_old_one_from_the_beginning(shop: Shop) -> None:
    shop.order((1, 1, 10.0), (2, 2, 5.0))
    shop.once(with_view(shop, per_customer, "customer"))
    old = shop.latest("totals")
    changed = with_view(shop, per_day, "day", version=2)
    shop.once(changed)
    shop.order((3, 1, 1.0))
    shop.once(changed)
    with shop.client.consumer(changed.topic_of("totals", 2), until="end") as records:
        assert [each.value for each in records] == [
            {"day": "2026-09-01", "total": 15.0},
            {"day": "2026-09-01", "total": 16.0},
        ]
    assert shop.latest("totals") == old


@pytest.mark.parametrize("kind", ["view", "table"])
def test_after_a_reset_the_changed_query_has_read_everything_once(shop: Shop, kind: str) -> None:
    def declared(change: int) -> Pipeline:
        if kind == "view":
            body, key = (per_customer, "customer") if change == 0 else (per_day, "day")
            return with_view(shop, body, key)
        pipeline = shop.new_pipeline()
        key = ("id", "customer")[change]
        pipeline.table(key=key, name="totals")(lambda orders: orders.select("id", "customer"))
        return pipeline

    shop.order((1, 1, 10.0), (2, 2, 5.0))
    shop.once(declared(0))
    changed = declared(1)
    with pytest.raises(Conflict, match="pipeline reset"):
        shop.once(changed)
    shop.reset("totals")
    shop.once(changed)
    shop.order((3, 1, 1.0))
    shop.once(changed)
    if kind == "view":
        day = {"day": "2026-09-01", "total": 16.0}
        assert shop.latest("totals") == {'{"day":"2026-09-01"}': day}
    else:
        assert sorted(row["id"] for row in shop.values("totals")) == [1, 2, 3]


def test_who_knows_better_can_keep_the_checkpoint(shop: Shop) -> None:
    """Here the output moves to another topic: what was read is not read again."""

    def declared(topic: str) -> Pipeline:
        pipeline = shop.new_pipeline()
        body = pipeline.table(key="id", name="copy", topic=topic)
        body(lambda orders: orders.select("id"))
        return pipeline

    first, second = (f"{shop.orders_topic}-{each}" for each in ("first", "second"))
    shop.order((1, 1, 10.0))
    shop.once(declared(first))
    with pytest.raises(Conflict, match="--keep-checkpoint"):
        shop.once(declared(second))
    shop.order((2, 1, 1.0))
    assert shop.keeping().once(declared(second))["copy"].state == "done"
    with shop.client.consumer(second, until="end") as records:
        assert [each.value for each in records] == [{"id": 2}]


def test_a_changelog_that_was_made_anew_is_taken_if_it_may_differ(shop: Shop) -> None:
    topic = shop.customers_topic

    def declared(**options: str) -> Pipeline:
        pipeline = Pipeline(f"made-anew-{shop.orders_topic}")
        pipeline.topic(shop.orders_topic, name="orders", schema="id LONG, customer LONG")
        schema = "customer LONG, name STRING"
        pipeline.changelog(topic, name="names", key="customer", schema=schema, options=options)
        body = pipeline.materialized_view(key="id", name="named")
        body(lambda orders, names: orders.join(names, "customer", "left").select("id", "name"))
        return pipeline

    shop.client.send(topic, {"customer": 1, "name": "Ada"}, key="1")
    shop.order((1, 1, 1.0))
    shop.once(declared())
    shop.client.admin.topics.delete(topic)
    shop.client.admin.topics.create(topic, partitions=1)
    for number in (2, 3):
        shop.client.send(topic, {"customer": number, "name": "Bob"}, key=str(number))
    shop.order((2, 1, 1.0), (3, 2, 1.0))
    with pytest.raises(Conflict, match="was deleted and made again"):
        shop.once(declared())
    shop.once(declared(failOnDataLoss="false"))
    with shop.client.consumer(declared().topic_of("named", 1), until="end") as records:
        found = {each.value["id"]: each.value["name"] for each in records}
    assert found == {1: "Ada", 2: None, 3: "Bob"}


def typed(shop: Shop, schema: str, body: object) -> Pipeline:
    pipeline = Pipeline(f"typed-{shop.orders_topic}")
    pipeline.topic(
        shop.orders_topic, name="orders", schema=schema, event_time="at", watermark="1 hour"
    )
    pipeline.table(name="kept", output_mode="append")(body)
    return pipeline


def per_window(column: str, function: Callable[[str], Column]) -> Callable[[DataFrame], DataFrame]:
    def body(orders: DataFrame) -> DataFrame:
        return orders.groupBy(F.window("at", "1 hour"), column).agg(function("customer").alias("n"))

    return body


def with_itself(*columns: str) -> Callable[[DataFrame], DataFrame]:
    def body(orders: DataFrame) -> DataFrame:
        other = orders.select(F.col("id").alias("other"), F.col("at").alias("other_at"))
        near = F.expr("id = other AND other_at BETWEEN at AND at + INTERVAL 1 HOUR")
        joined = orders.join(other, near)
        return joined.select(*columns) if columns else joined.drop("nothing")

    return body


ID = "id LONG, customer INT, at TIMESTAMP"
CHANGES = {
    "the type that is grouped by": (
        (ID, "id INT, customer INT, at TIMESTAMP"),
        per_window("id", F.count),
        "bigint) of (count",
    ),
    "the type that is added up": (
        (ID, "id LONG, customer DOUBLE, at TIMESTAMP"),
        per_window("id", F.sum),
        "sum bigint from bigint",
    ),
    "the type that is collected": (
        (ID, "id LONG, customer LONG, at TIMESTAMP"),
        per_window("id", F.collect_list),
        "array<int>",
    ),
    "one more column of a join": (
        (ID, f"{ID}, note STRING"),
        with_itself(),
        "note string",
    ),
    "the type of a key without duplicates": (
        (ID, "id STRING, customer INT, at TIMESTAMP"),
        lambda orders: orders.dropDuplicates(["id"]),
        "id bigint",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_state_of_another_type_is_refused_with_the_choices(shop: Shop, change: str) -> None:
    (before, after), body, words = CHANGES[change]
    shop.order((1, 1, 1.0))
    shop.once(typed(shop, before, body))
    with pytest.raises(Conflict, match="does not fit any more") as refusal:
        shop.once(typed(shop, after, body))
    assert words in str(refusal.value)
    assert "pipeline reset" in str(refusal.value)


@pytest.mark.parametrize(
    ("after", "body"),
    [
        ("id LONG, customer LONG, at TIMESTAMP", per_window("id", F.sum)),
        (f"{ID}, note STRING", per_window("id", F.sum)),
        (f"{ID}, note STRING", with_itself("id", "other_at")),
        (f"{ID}, note STRING", lambda orders: orders.dropDuplicates(["id"])),
    ],
    ids=["a sum has the same type", "not grouped by", "not kept by the join", "no key"],
)
def test_what_state_does_not_hold_may_change(
    shop: Shop, after: str, body: Callable[[DataFrame], DataFrame]
) -> None:
    shop.order((1, 1, 1.0))
    assert shop.once(typed(shop, ID, body))["kept"].error is None
    shop.order((2, 1, 1.0))
    changed = shop.once(typed(shop, after, body))["kept"]
    assert (changed.state, changed.error) == ("done", None)


def test_a_checkpoint_that_does_not_know_its_types_goes_on(shop: Shop) -> None:
    body = per_window("id", F.sum)
    shop.order((1, 1, 1.0))
    shop.once(typed(shop, ID, body))
    (file,) = shop.folder.glob("*/kept.v1/signature.json")
    signature = json.loads(file.read_text())
    del signature["state_types"]
    file.write_text(json.dumps(signature))
    shop.order((2, 1, 1.0))
    assert shop.once(typed(shop, ID, body))["kept"].state == "done"
    assert json.loads(file.read_text())["state_types"]


def numbered(width: int) -> Callable[[DataFrame], DataFrame]:
    return lambda orders: (
        orders.withColumn("part", F.col("id") % width).groupBy("part").agg(F.count("*").alias("n"))
    )


class Counting(StatefulProcessor):
    """How many rows a group has had."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._count = handle.getValueState("count", "n LONG")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: ARG002, N802, N803
        before = self._count.get()[0] if self._count.exists() else 0
        n = before + sum(map(len, rows))
        self._count.update((n,))
        yield pd.DataFrame({"part": [key[0]], "n": [n]})

    def close(self) -> None:
        """Nothing was opened."""


def counted(width: int) -> Callable[[DataFrame], DataFrame]:
    return lambda orders: (
        orders.withColumn("part", F.col("id") % width)
        .groupBy("part")
        .transformWithStateInPandas(Counting(), "part LONG, n LONG", "Update", "None")
    )


def windowed(*durations: str) -> Callable[[DataFrame], DataFrame]:
    return lambda orders: orders.groupBy(F.window("at", *durations).alias("part")).agg(
        F.count("*").alias("n")
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (windowed("1 minute"), windowed("5 minutes")),
        (windowed("1 minute"), windowed("2 minutes", "1 minute")),
        (numbered(10), numbered(20)),
        (counted(10), counted(20)),
    ],
    ids=["another window", "windows that overlap", "another column of the same name", "own state"],
)
def test_keys_of_state_that_are_computed_in_another_way_are_refused(
    shop: Shop, before: object, after: object
) -> None:
    """Spark would go on, and count to the end in one group what it began to count in another."""
    shop.order((1, 1, 1.0))
    shop.once(with_view(shop, before, "part"))
    with pytest.raises(Conflict, match="is computed in another way") as refusal:
        shop.once(with_view(shop, after, "part"))
    assert "version=2" in str(refusal.value)


def test_state_of_the_users_own_goes_on(shop: Shop) -> None:
    for number in (1, 11):
        shop.order((number, 1, 1.0))
        assert shop.once(with_view(shop, counted(10), "part"))["totals"].error is None
    assert [row["n"] for row in shop.values("totals")] == [1, 2]


def test_keys_of_state_may_be_written_in_other_words(shop: Shop) -> None:
    shop.order((1, 1, 1.0))
    shop.once(with_view(shop, windowed("1 minute"), "part"))
    shop.order((61, 1, 1.0))
    assert shop.once(with_view(shop, windowed("60 seconds"), "part"))["totals"].state == "done"
    assert [row["n"] for row in shop.latest("totals").values()] == [2]


def renamed(shop: Shop, name: str) -> Pipeline:
    pipeline = shop.new_pipeline()
    pipeline.create_streaming_table("all_orders", key="id")
    pipeline.append_flow(target="all_orders", name=name)(lambda orders: orders.select("id"))
    return pipeline


def test_a_flow_under_another_name_does_not_write_its_rows_once_more(shop: Shop) -> None:
    shop.order((1, 1, 1.0))
    shop.once(renamed(shop, "web"))
    with pytest.raises(Conflict, match="again what 'web' has written") as refusal:
        shop.once(renamed(shop, "shop"))
    assert 'name="web"' in str(refusal.value)
    assert shop.once(renamed(shop, "web"))["web"].state == "done"
    assert shop.values("all_orders") == [{"id": 1}]
    shop.reset("web")
    assert shop.once(renamed(shop, "shop"))["shop"].state == "done"
    assert shop.values("all_orders") == [{"id": 1}]
    shop.keeping()
    assert shop.once(renamed(shop, "again"))["again"].state == "done"
    assert shop.values("all_orders") == [{"id": 1}, {"id": 1}]
