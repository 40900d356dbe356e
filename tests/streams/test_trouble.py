"""What can go wrong under a pipeline: each has a clear outcome in the status, and the others go on."""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from headwater.client import Client
from headwater.errors import Conflict
from headwater.streams.pipeline import Pipeline
from headwater.streams.run.board import Board
from streams.shop import Shop, per_customer

pytestmark = pytest.mark.long


def send_raw(shop: Shop, *values: bytes) -> None:
    with shop.client.producer(value_format="bytes") as producer:
        for each in values:
            producer.send(shop.orders_topic, each)


def copying(shop: Shop, **options: str) -> Pipeline:
    """One table with the ids of all orders."""
    pipeline = shop.new_pipeline()
    pipeline.topic(shop.orders_topic, name="raw", schema="id LONG", options=options)
    pipeline.table(name="copied")(lambda raw: raw)
    return pipeline


def copied_ids(shop: Shop) -> list[int]:
    return sorted(row["id"] for row in shop.values("copied"))


def test_a_poison_record_is_set_aside_and_counted_and_the_query_goes_on(shop: Shop) -> None:
    shop.pipeline.materialized_view(key="customer", name="totals")(per_customer)
    poison = b'{"id": 2, "customer": 1, "tot'
    shop.order((1, 1, 10.0))
    send_raw(shop, poison)
    shop.order((3, 1, 1.0))
    status = shop.once()["totals"]
    assert (status.state, status.dead, status.error) == ("done", 1, None)
    assert shop.latest("totals") == {'{"customer":1}': {"customer": 1, "total": 11.0}}
    dead = f"{shop.orders_topic}.dead"
    with shop.client.consumer(dead, until="end", value_format="bytes") as letters:
        assert [each.value for each in letters] == [poison]


def test_a_new_field_a_missing_field_and_another_type_of_a_field(shop: Shop) -> None:
    """Producers change what they write: ignored, null, and set aside with the reason."""

    @shop.pipeline.table(key="id")
    def seen(orders: DataFrame) -> DataFrame:
        return orders.select("id", "total")

    send_raw(
        shop,
        b'{"id": 1, "total": 1.0, "currency": "EUR"}',
        b'{"id": 2}',
        b'{"id": 3, "total": {"amount": 1.0, "currency": "EUR"}}',
    )
    status = shop.once()["seen"]
    assert (status.state, status.dead) == ("done", 1)
    rows = sorted(shop.values("seen"), key=lambda row: row["id"])
    assert rows == [{"id": 1, "total": 1.0}, {"id": 2, "total": None}]
    dead = f"{shop.orders_topic}.dead"
    with shop.client.consumer(dead, until="end", value_format="bytes") as letters:
        (reason,) = [dict(each.headers)["headwater.reason"] for each in letters]
    assert b"total" in reason


def test_a_topic_that_is_deleted_under_a_query_is_named_and_the_others_go_on(
    shop: Shop, new_topic: Callable[..., str]
) -> None:
    other_topic = new_topic()
    shop.pipeline.topic(other_topic, name="other", schema="id LONG")
    shop.pipeline.table(name="copied")(lambda orders: orders.select("id"))
    shop.pipeline.table(name="unhurt")(lambda other: other)
    shop.order((1, 1, 10.0))
    with shop.running() as run:
        run.wait_for("copied", lambda status: status.rows == 1)
        shop.client.admin.topics.delete(shop.orders_topic)
        status = run.wait_for("copied", lambda status: status.state == "restarting")
        # It may be gone before its partitions are looked up, or between that and their offsets.
        names = rf"(topic '{shop.orders_topic}'|partition {shop.orders_topic}-\d) does not exist"
        assert re.match(names, str(status.error))
        shop.client.send(other_topic, {"id": 1})
        status = run.wait_for("unhurt", lambda status: status.rows == 1)
        assert (status.state, status.error) == ("running", None)
        shop.client.admin.topics.create(shop.orders_topic, partitions=2)
        run.wait_for("copied", lambda status: "deleted and made again" in str(status.error))


def test_a_topic_that_was_made_again_while_no_query_ran_is_not_taken_for_the_old_one(
    shop: Shop,
) -> None:
    pipeline = copying(shop)
    shop.order((1, 1, 1.0))
    shop.once(pipeline)
    shop.client.admin.topics.delete(shop.orders_topic)
    assert shop.once(pipeline)["copied"].state == "failed"  # which forgets nothing
    shop.client.admin.topics.create(shop.orders_topic, partitions=2)
    shop.order(*((number, 1, 1.0) for number in range(10, 30)))
    with pytest.raises(Conflict, match="was deleted and made again"):
        shop.once(pipeline)
    assert copied_ids(shop) == [1]


def test_an_output_that_was_made_again_is_not_taken_for_the_one_that_was_filled(shop: Shop) -> None:
    pipeline = copying(shop)
    output = f"{pipeline.name}.copied"
    shop.order((1, 1, 1.0))
    shop.once(pipeline)
    shop.client.admin.topics.delete(output)
    shop.client.admin.topics.create(output, partitions=1)
    shop.order((2, 1, 1.0))
    with pytest.raises(Conflict, match=f"'{output}' that it filled was deleted and made again"):
        shop.once(pipeline)
    assert copied_ids(shop) == []


def test_a_topic_that_was_made_again_before_a_query_begins_again_is_not_taken_for_the_old_one(
    shop: Shop,
) -> None:
    """It has grown past where the old one was read, in a run that has compared them at its start."""
    shop.pipeline = copying(shop)
    shop.order((1, 1, 1.0), (2, 1, 1.0), (3, 1, 1.0))
    name, board = f"{shop.pipeline.name}.copied", Board(shop.client)
    with shop.running() as run:
        run.wait_for("copied", lambda status: status.rows == 3)
        board.wish([name], paused=True)
        run.wait_for("copied", lambda status: status.state == "paused")
        shop.client.admin.topics.delete(shop.orders_topic)
        shop.client.admin.topics.create(shop.orders_topic, partitions=2)
        shop.order(*((number, 1, 1.0) for number in range(10, 30)))
        board.wish([name], paused=False)
        status = run.wait_for("copied", lambda status: status.error or status.rows > 3)
        assert "was deleted and made again" in str(status.error)
    assert copied_ids(shop) == [1, 2, 3]


def test_a_topic_that_was_made_again_is_read_from_its_beginning_if_that_may_lose_records(
    shop: Shop,
) -> None:
    pipeline = copying(shop, failOnDataLoss="false")
    shop.order((1, 1, 1.0), (2, 1, 1.0), (3, 1, 1.0))
    shop.once(pipeline)
    shop.client.admin.topics.delete(shop.orders_topic)
    shop.client.admin.topics.create(shop.orders_topic, partitions=2)
    shop.order((4, 1, 1.0))
    assert shop.once(pipeline)["copied"].state == "done"
    assert copied_ids(shop) == [1, 2, 3, 4]


@pytest.mark.parametrize("is_atomic", [False, True])
def test_an_output_that_is_deleted_under_its_query_is_not_made_anew_in_silence(
    shop: Shop, is_atomic: bool
) -> None:
    view = shop.pipeline.materialized_view(key="customer", name="totals", atomic=is_atomic)
    view(per_customer)
    shop.order((1, 1, 10.0))
    with shop.running() as run:
        run.wait_for("totals", lambda status: status.rows == 1)
        shop.client.admin.topics.delete(shop.pipeline.topic_of("totals", 1))
        shop.order((2, 2, 1.0))
        run.wait_for("totals", lambda status: "does not exist any more" in str(status.error))
        run.wait_for("totals", lambda status: "pipeline reset" in str(status.error))
    shop.reset("totals")
    assert shop.once()["totals"].state == "done"
    assert sorted(row["total"] for row in shop.latest("totals").values()) == [1.0, 10.0]


def test_records_that_expired_before_a_slow_reader_came_stop_it_with_their_offsets(
    shop: Shop,
) -> None:
    pipeline = copying(shop)
    shop.order((1, 1, 1.0))
    shop.once(pipeline)
    expire(shop)
    status = shop.once(pipeline)["copied"]
    assert status.state == "failed"
    assert "records were deleted or expired before they were read" in str(status.error)
    assert "set failOnDataLoss to false" in str(status.error)
    assert copied_ids(shop) == [1]


def test_records_that_expired_are_passed_over_if_that_is_allowed(shop: Shop) -> None:
    pipeline = copying(shop, failOnDataLoss="false")
    shop.order((1, 1, 1.0))
    shop.once(pipeline)
    expire(shop)
    assert shop.once(pipeline)["copied"].state == "done"
    assert copied_ids(shop) == [1, 9]


def expire(shop: Shop) -> None:
    """Records come and go while the query stands still; one more comes after them."""
    topics = shop.client.admin.topics
    shop.order(*((number, 1, 1.0) for number in range(2, 9)))
    topics.trim(topics.plan_trim(shop.orders_topic, before="end"))
    shop.order((9, 1, 1.0))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("this user may not mount a small file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_under_the_checkpoint_is_named_and_space_lets_the_query_go_on(
    spark: SparkSession, client: Client, new_topic: Callable[..., str], small_disk: Path
) -> None:
    shop = Shop(spark, client, new_topic(), new_topic(), small_disk / "state")
    shop.pipeline.materialized_view(key="customer", name="totals")(per_customer)
    shop.order((1, 1, 10.0))
    with shop.running() as run:
        run.wait_for("totals", lambda status: status.rows == 1)
        filler = small_disk / "filler"
        filler.write_bytes(bytes(shutil.disk_usage(small_disk).free))
        shop.order((2, 1, 1.0))
        status = run.wait_for("totals", lambda status: status.state == "restarting")
        assert str(status.error).startswith("no space is left for the checkpoint")
        assert str(small_disk) in str(status.error)
        filler.unlink()
        run.wait_for("totals", lambda status: status.error is None and status.lag == 0)
    assert shop.latest("totals") == {'{"customer":1}': {"customer": 1, "total": 11.0}}
    changes = [row["total"] for row in shop.values("totals")]
    assert changes == [10.0, 11.0], "the batch that had no space is written once"
