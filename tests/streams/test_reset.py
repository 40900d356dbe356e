"""`headwater pipeline reset`: what belongs together begins again together, or nothing does."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.client import Client
from headwater.streams.run.board import Board
from headwater.streams.run.status import Status
from streams.folder import Folder
from streams.shop import Shop


def a_status(query: str, topic: str, **facts: Any) -> Status:
    pipeline, _, name = query.partition(".")
    given = {"kind": "table", "state": "stopped", "at_ms": 0, "reads": {}, **facts}
    return Status(pipeline, name, location="shop.py:1", topic=topic, **given)


def put_up(client: Client, *statuses: Status) -> None:
    board = Board(client)
    board.put_up()
    for each in statuses:
        board.publish(each)


@pytest.mark.long
def test_a_reset_of_one_flow_loses_no_row_of_the_others_and_doubles_none_downstream(
    shop: Shop, new_topic: Callable[..., str]
) -> None:
    pipeline = shop.pipeline
    more = new_topic()
    pipeline.topic(more, name="more", schema="id LONG, customer LONG, total DOUBLE")
    pipeline.create_streaming_table("together", expect={"paid": ("total > 0", "quarantine")})

    @pipeline.append_flow(target="together")
    def from_orders(orders: DataFrame) -> DataFrame:
        return orders.select("id", "customer", "total")

    @pipeline.append_flow(target="together")
    def from_more(more: DataFrame) -> DataFrame:
        return more

    @pipeline.materialized_view(key="customer")
    def counts(together: DataFrame) -> DataFrame:
        return together.groupBy("customer").agg(F.count("*").alias("orders"))

    shop.order((1, 1, 10.0), (2, 1, -1.0))
    shop.client.send(more, {"id": 3, "customer": 1, "total": 5.0})
    shop.client.send(more, {"id": 4, "customer": 1, "total": -1.0})
    shop.once()
    shop.reset("from_orders")
    shop.once()
    assert sorted(row["id"] for row in shop.values("together")) == [1, 3]
    assert sorted(row["id"] for row in shop.values("together.quarantine")) == [2, 4]
    assert shop.latest("counts") == {'{"customer":1}': {"customer": 1, "orders": 2}}


def test_the_plan_names_who_begins_again_and_why(
    folder: Folder, client: Client, topic: str
) -> None:
    put_up(
        client,
        a_status(f"{topic}.eu", f"{topic}.all"),
        a_status(f"{topic}.us", f"{topic}.all"),
        a_status(f"{topic}.counts", f"{topic}.counts", reads={"all": f"{topic}.all"}),
        a_status(f"{topic}.audit", f"{topic}.audit", reads={"bad": f"{topic}.all.quarantine"}),
        a_status(f"{topic}.top", f"{topic}.top", reads={"counts": f"{topic}.counts"}),
        a_status(f"{topic}.apart", f"{topic}.apart", reads={"eu": topic}),
    )
    (folder.state / topic).mkdir(parents=True)
    plan = folder.json("reset", f"{topic}.us", "--yes")
    assert [(each["query"].removeprefix(f"{topic}."), each["why"]) for each in plan] == [
        ("us", "named"),
        ("audit", f"reads {topic}.all.quarantine"),
        ("counts", f"reads {topic}.all"),
        ("eu", f"fills {topic}.all"),
        ("top", f"reads {topic}.counts"),
    ]
    left = [each.query for each in Board(client).statuses() if each.pipeline == topic]
    assert left == ["apart"], "what has been forgotten is still told"


def test_a_reader_whose_checkpoint_is_elsewhere_is_not_emptied(
    folder: Folder, client: Client, new_topic: Callable[..., str]
) -> None:
    filled, made = new_topic(), new_topic()
    client.send(filled, {"id": 1})
    client.send(made, {"id": 1})
    put_up(
        client,
        a_status(f"{filled}.t", filled),
        a_status(f"{made}.elsewhere", made, reads={"t": filled}),
    )
    done = folder("reset", f"{filled}.t", "--yes")
    assert done.returncode == 5, done.stderr
    assert f"{made}.elsewhere, which reads {filled}, must begin again too" in done.stderr
    assert client.admin.topics.sizes([filled, made]) == {filled: 1, made: 1}


def test_another_version_keeps_its_checkpoint_as_it_keeps_its_topic(
    folder: Folder, client: Client, topic: str
) -> None:
    checkpoints = folder.state / topic
    for version, filled in (("t.v1", f"{topic}.t"), ("t.v2", topic), ("t.v2.v1", f"{topic}.t.v2")):
        (checkpoints / version).mkdir(parents=True)
        signature = {"sources": [], "state": [], "output_mode": "append", "key": []}
        signature["topic"] = filled
        (checkpoints / version / "signature.json").write_text(json.dumps(signature))
    put_up(client, a_status(f"{topic}.t", topic))
    folder.json("reset", f"{topic}.t", "--yes")
    assert sorted(each.name for each in checkpoints.iterdir()) == ["t.v1", "t.v2.v1"]


def test_an_older_version_of_a_reader_begins_again_too(
    folder: Folder, client: Client, new_topic: Callable[..., str]
) -> None:
    """Its checkpoint would count the rows that are written anew once more."""
    filled, newer, older = new_topic(), new_topic(), new_topic()
    for each in (filled, newer, older):
        client.send(each, {"id": 1})
    checkpoints = folder.state / filled
    signature = {"state": [], "output_mode": "append", "key": []}
    for version, left in (
        ("m.v1", {"sources": [filled], "topic": older}),
        ("m.v2", {"sources": [filled], "topic": newer}),
        ("apart.v1", {"sources": [newer + "x"], "topic": "apart"}),
    ):
        (checkpoints / version).mkdir(parents=True)
        (checkpoints / version / "signature.json").write_text(json.dumps(signature | left))
    put_up(
        client,
        a_status(f"{filled}.t", filled),
        a_status(f"{filled}.m", newer, reads={"t": filled}),
    )
    plan = folder.json("reset", f"{filled}.t", "--yes")
    assert [(each["query"].removeprefix(filled), each["topic"]) for each in plan] == [
        (".t", filled),
        (".m", newer),
        (".m (older)", older),
    ]
    assert [each.name for each in checkpoints.iterdir()] == ["apart.v1"]
    assert client.admin.topics.sizes([filled, newer, older]) == {filled: 0, newer: 0, older: 0}


def test_the_topic_of_an_older_table_is_emptied_and_that_of_an_older_view_deleted(
    folder: Folder, client: Client, new_topic: Callable[..., str]
) -> None:
    """Who reads a table goes on with its topic; a view's is compacted, and cannot be emptied."""
    filled, table, view = new_topic(), new_topic(), new_topic()
    for each in (filled, table, view):
        client.send(each, {"id": 1})
    signature = {"sources": [filled], "state": [], "output_mode": "append", "key": ["id"]}
    for version, left in (
        ("t.v1", {"topic": table, "partitions": 0}),
        ("v.v1", {"topic": view, "partitions": 1}),
    ):
        (folder.state / filled / version).mkdir(parents=True)
        file = folder.state / filled / version / "signature.json"
        file.write_text(json.dumps(signature | left))
    put_up(client, a_status(f"{filled}.t", filled))
    folder.json("reset", f"{filled}.t", "--yes")
    assert client.admin.topics.sizes([filled, table]) == {filled: 0, table: 0}
    assert {table, view} & set(client.admin.topics.names()) == {table}


def test_a_query_whose_driver_was_killed_is_lost_and_can_be_reset(
    folder: Folder, client: Client, topic: str
) -> None:
    query = f"{topic}.t"
    put_up(client, a_status(query, topic, state="running", at_ms=1_790_000_000_000))
    (listed,) = [each for each in folder.json("list") if each["query"] == query]
    (described,) = folder.json("describe", query)
    said = (listed["state"], described["state"], described["error"])
    assert said == ("lost", "lost", "its run has said nothing since 2026-09-21T14:13:20+00:00")
    assert [each["query"] for each in folder.json("reset", query, "--yes")] == [query]


def test_a_query_of_a_driver_whose_clock_is_behind_is_not_reset_under_it(
    folder: Folder, client: Client, topic: str
) -> None:
    client.send(topic, {"id": 1})
    query = f"{topic}.t"
    behind = a_status(query, topic, state="running", at_ms=1_790_000_000_000)
    put_up(client, behind)
    with publishing(client, behind):
        done = folder("reset", query, "--yes")
    assert (done.returncode, client.admin.topics.sizes([topic])) == (5, {topic: 1}), done.stderr
    assert f"{query} is running" in done.stderr


def test_a_status_is_old_after_half_a_minute_if_more_should_have_come() -> None:
    running = a_status("shop.t", "t", state="running", at_ms=1_000)
    assert [running.as_of(now_ms).state for now_ms in (0, 31_000, 31_001)] == [
        "running",
        "running",
        "lost",
    ]
    for state in ("paused", "failed", "stopped", "done"):
        assert a_status("shop.t", "t", state=state).as_of(31_001).state == state


@contextmanager
def publishing(client: Client, status: Status) -> Iterator[None]:
    """A driver tells of its query as long as this lasts."""
    enough = threading.Event()

    def publish() -> None:
        while not enough.wait(0.5):
            Board(client).publish(status)

    driver = threading.Thread(target=publish)
    driver.start()
    try:
        yield
    finally:
        enough.set()
        driver.join()
