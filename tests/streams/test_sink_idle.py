"""A pipeline that has nothing to do for longer than the broker keeps its markers."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import headwater
from headwater.client import Client
from headwater.testing import Broker, SettableClock
from streams.shop import Shop, per_customer
from streams.test_sink import forget_last_commit

WEEK_S = 7 * 86_400


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def broker(clock: SettableClock) -> Iterator[Broker]:
    with Broker(clock=clock) as started:
        for name in ("orders", "customers", "shop-orders.copied"):
            started.create_topic(name, partitions=2, retention_ms=-1)
        yield started


@pytest.fixture
def client(broker: Broker) -> Iterator[Client]:
    with headwater.connect(broker.bootstrap) as connected:
        yield connected


@pytest.fixture
def shop(spark: SparkSession, client: Client, tmp_path: Path) -> Iterator[Shop]:
    made = Shop(spark, client, "orders", "customers", tmp_path / "state")

    @made.pipeline.table(key="id")
    def copied(orders: DataFrame) -> DataFrame:
        return orders.select("id")

    yield made
    for query in spark.streams.active:
        query.stop()


def checkpoint(shop: Shop, query: str) -> Path:
    return shop.where.checkpoints.of(shop.pipeline.name, query, 1).spark


def ids(shop: Shop) -> list[int]:
    return sorted(row["id"] for row in shop.values("copied"))


def test_a_run_every_two_weeks_goes_on(shop: Shop, clock: SettableClock) -> None:
    shop.pipeline.materialized_view(key="customer", name="totals")(per_customer)
    for number in range(3):
        shop.order((number, 1, 1.0))
        found = shop.once()
        assert {each.state for each in found.values()} == {"done"}, found
        clock.advance(seconds=2 * WEEK_S)
    assert ids(shop) == [0, 1, 2]
    assert shop.latest("totals") == {'{"customer":1}': {"customer": 1, "total": 3.0}}


def test_a_query_that_waits_for_two_weeks_goes_on(shop: Shop, clock: SettableClock) -> None:
    with shop.running() as running:
        for number in range(2):
            shop.order((number, 1, 1.0))
            running.wait_for("copied", lambda status, wanted=number + 1: status.rows >= wanted)
            clock.advance(seconds=2 * WEEK_S)
    assert ids(shop) == [0, 1]


def test_a_batch_that_was_begun_before_the_markers_expired_is_not_written_twice(
    shop: Shop, clock: SettableClock
) -> None:
    """Nobody knows any more how far it came."""
    for number in range(2):
        shop.order((number, 1, 1.0))
        shop.once()
    forget_last_commit(checkpoint(shop, "copied"))
    clock.advance(seconds=2 * WEEK_S)
    status = shop.once()["copied"]
    assert status.state == "failed"
    assert "nobody can tell whether the batch was written" in str(status.error)
    assert ids(shop) == [0, 1]
