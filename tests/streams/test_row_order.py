"""Whether the last row of a key may come before an older one is told from the plan of a view."""

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from streams.shop import Shop, per_customer

Body = Callable[..., DataFrame]


def named(orders: DataFrame, customers: DataFrame) -> DataFrame:
    return orders.join(customers.withColumnRenamed("id", "customer"), "customer", "left")


def last_of_each(orders: DataFrame) -> DataFrame:
    last = F.max_by(F.struct("customer", "total"), "at").alias("last")
    return orders.groupBy(F.col("id").alias("number")).agg(last).selectExpr("number id", "last.*")


def by_hour(orders: DataFrame) -> DataFrame:
    return orders.groupBy(F.window("at", "1 hour").alias("hour"), "customer").count()


def as_they_are(_: Any, batches: Any, __: Any) -> Any:
    yield from batches


def in_pandas(orders: DataFrame) -> DataFrame:
    return (
        orders.groupBy("id")
        .applyInPandasWithState(as_they_are, orders.schema, "n LONG", "update", "NoTimeout")
        .select("id", "total")
    )


class Echo(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        """Nothing is kept."""

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: ARG002, N802, N803
        yield from rows

    def close(self) -> None:
        """Nothing was opened."""


def with_state(orders: DataFrame) -> DataFrame:
    groups = orders.groupBy("id")
    return groups.transformWithStateInPandas(Echo(), orders.schema, "Update", "None")


@pytest.mark.parametrize(
    ("key", "body", "moved"),
    [
        ("id", lambda orders: orders.select("id", "total"), None),
        ("id", named, "a join"),
        ("id", lambda orders, customers: named(orders, F.broadcast(customers)), None),
        ("id", lambda orders, customers: named(last_of_each(orders), customers), None),
        ("id", lambda orders: orders.repartition(2, "id"), "a repartition"),
        ("id", lambda orders: orders.coalesce(1), None),
        ("id", lambda orders: orders.union(orders.repartition(2)), "a repartition"),
        ("customer", per_customer, None),
        (["hour", "customer"], by_hour, None),
        ("customer", by_hour, "an aggregation by other columns than its key"),
        ("id", lambda orders: orders.dropDuplicates(["id"]), None),
        (
            "id",
            lambda orders: orders.dropDuplicates(["id", "total"]),
            "dropDuplicates by other columns than its key",
        ),
        ("id", in_pandas, None),
        ("id", with_state, None),
        ("total", with_state, "transformWithState by other columns than its key"),
    ],
)
def test_what_may_keep_an_older_row_is_told(
    shop: Shop, key: str | list[str], body: Body, moved: str | None
) -> None:
    shop.pipeline.materialized_view(name="kept", key=key)(body)
    (planned,) = shop.runner.plan([shop.pipeline.graph()])
    assert planned.moved_by == moved


def test_a_table_keeps_every_row_in_whatever_order(shop: Shop) -> None:
    shop.pipeline.table(name="all", key="id")(named)
    (planned,) = shop.runner.plan([shop.pipeline.graph()])
    assert planned.moved_by is None
