"""`wait_for` a record of what a pipeline reads: the answer has the record's results, or there is none."""

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame

import headwater
from headwater.client import Client, Receipt
from headwater.clock import SystemClock
from headwater.errors import InvalidRequest, TimedOut, Unavailable
from headwater.streams.run.read_positions import ReadPositions, group_of
from headwater.testing import ViewServer
from streams.shop import Shop, per_customer


@pytest.fixture
def served(shop: Shop) -> Iterator[Client]:
    """A client of the shop's broker that knows a server of its views."""
    bootstrap = shop.client.connection.address.bootstrap
    with (
        ViewServer(bootstrap, max_wait_ms=60_000) as server,
        headwater.connect(bootstrap, views=server.url) as client,
    ):
        yield client


def place_order(shop: Shop, number: int, total: float) -> Receipt:
    order = {"id": number, "customer": 1, "total": total, "at": "2026-09-01T10:00:00Z"}
    return shop.client.send(shop.orders_topic, order, key=str(number))


def read(shop: Shop, served: Client, view: str, receipt: Receipt, timeout_s: float = 60.0) -> Any:
    """Ask until the server knows the view."""
    while True:
        try:
            found = served.view(f"{shop.pipeline.name}.{view}")
            return found.get(customer=1, wait_for=receipt, timeout_s=timeout_s)
        except TimedOut:
            raise
        except (Unavailable, headwater.errors.NotFound):
            pass


@pytest.mark.long
def test_each_record_is_in_the_view_when_it_was_waited_for(shop: Shop, served: Client) -> None:
    shop.pipeline.materialized_view(key="customer", name="totals")(per_customer)
    with shop.running() as running:
        running.wait_for("totals", lambda status: status.state == "running")
        for number in range(5):
            receipt = place_order(shop, number, 1.0)
            assert read(shop, served, "totals", receipt)["total"] == number + 1


def test_a_record_is_waited_for_through_the_tables_on_its_way(shop: Shop, served: Client) -> None:
    @shop.pipeline.table
    def checked(orders: DataFrame) -> DataFrame:
        return orders.filter("total > 0")

    @shop.pipeline.table
    def doubled(checked: DataFrame) -> DataFrame:
        return checked.selectExpr("id", "customer", "total * 2 AS total")

    @shop.pipeline.materialized_view(key="customer")
    def totals(doubled: DataFrame) -> DataFrame:
        return per_customer(doubled)

    with shop.running() as running:
        running.wait_for("totals", lambda status: status.state == "running")
        for number in range(3):
            receipt = place_order(shop, number, 1.0)
            assert read(shop, served, "totals", receipt)["total"] == 2 * (number + 1)


@pytest.mark.long
def test_while_the_pipeline_is_away_there_is_no_answer(shop: Shop, served: Client) -> None:
    shop.pipeline.materialized_view(key="customer", name="totals")(per_customer)
    first = place_order(shop, 1, 1.0)
    shop.once()
    assert read(shop, served, "totals", first)["total"] == 1.0
    second = place_order(shop, 2, 1.0)
    with pytest.raises(TimedOut, match="has not reached"):
        read(shop, served, "totals", second, timeout_s=0.5)
    shop.once()
    assert read(shop, served, "totals", second)["total"] == 2.0


@pytest.mark.long
def test_results_that_are_computed_anew_are_waited_for_anew(shop: Shop, served: Client) -> None:
    """A server that still has the results of before, at higher offsets, does not answer with those."""
    shop.pipeline.materialized_view(key="customer", name="totals")(per_customer)
    for number in range(5):
        receipt = place_order(shop, number, 1.0)
        shop.once()
    assert read(shop, served, "totals", receipt)["total"] == 5.0
    shop.reset("totals")
    receipt = place_order(shop, 5, 1.0)
    shop.once()
    assert read(shop, served, "totals", receipt)["total"] == 6.0


def test_a_query_that_begins_anew_has_read_nothing(shop: Shop) -> None:
    shop.pipeline.materialized_view(key="customer", name="totals")(per_customer)
    (planned,) = shop.runner.plan([shop.pipeline.graph()])
    positions, committed = (
        ReadPositions(shop.client, SystemClock()),
        shop.client.admin.groups.committed,
    )
    at_seven, at_two = ({shop.orders_topic: {"0": offset}} for offset in (7, 2))
    positions.note(planned, at_seven)
    assert committed(group_of(planned)) == {(shop.orders_topic, 0): 7}
    positions.begin(planned)
    positions.note(planned, at_seven)  # said by the query before
    assert committed(group_of(planned)) == {}
    positions.note(planned, at_two)
    assert committed(group_of(planned)) == {(shop.orders_topic, 0): 2}


def test_a_record_of_a_table_that_is_only_looked_up_is_refused(shop: Shop, served: Client) -> None:
    @shop.pipeline.materialized_view(key="customer")
    def named(orders: DataFrame, customers: DataFrame) -> DataFrame:
        names = customers.withColumnRenamed("id", "customer")
        return orders.join(names, "customer", "left").select("customer", "name")

    shop.order((1, 1, 1.0))
    shop.once()
    receipt = shop.client.send(shop.customers_topic, {"id": 1, "name": "Ann"}, key="1")
    with pytest.raises(InvalidRequest, match="cannot tell when it has a record of"):
        read(shop, served, "named", receipt)
