"""A follower keeps its store equal to the topic: while it runs, after a stop, from zero, beside itself."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer

from followers.conftest import Rig
from followers.polls import rows_of
from headwater.client import Client
from headwater.errors import NotFound, Unavailable
from headwater.followers.follower import Follower, tag_of
from headwater.followers.followers import Followers
from headwater.followers.store import Store
from headwater.views import (
    DEFINITIONS_TOPIC,
    Column,
    encode_definition,
    encode_key,
    parse_type,
)
from headwater.views.rows import encode_row
from rigs.changelog import Changelog, make_view, new_name, revenue


def table(follower: Follower) -> list[dict[str, Any]]:
    assert follower.served is not None
    return rows_of(follower.served)


def is_caught_up(follower: Follower, changelog: Changelog) -> bool:
    """Whether the store is at the end of the topic, markers of transactions included."""
    if follower.served is None or follower.status().state != "following":
        return False
    partitions = changelog.client.admin.topics.describe(changelog.view.topic).partitions
    ends = {each.partition: each.end_offset for each in partitions}
    return follower.served.positions() == ends


def test_upserts_and_deletes_reach_the_store(rig: Rig, changelog: Changelog) -> None:
    follower = rig.follower(changelog.view)
    for number in range(20):
        changelog.put(revenue(number % 7, float(number)))
    changelog.delete(minute="2026-09-01T10:00Z", customer=3)
    rig.until(lambda: is_caught_up(follower, changelog))
    assert table(follower) == changelog.table()
    assert [each["customer"] for each in table(follower)] == [0, 1, 2, 4, 5, 6]
    status = follower.status()
    assert (status.state, status.lag_records, status.lag_seconds) == ("following", 0, 0.0)
    assert sum((status.as_of or {}).values()) == 21


def test_no_subscriber_finds_a_store_without_the_place_where_its_changes_go_on(
    rig: Rig, changelog: Changelog
) -> None:
    found: list[Store | None] = []

    def watch(_: Followers, follower: Follower) -> None:
        reset = follower.tail.reset

        def noted(*arguments: Any) -> None:
            found.append(follower.served)
            reset(*arguments)

        follower.tail.reset = noted  # type: ignore[method-assign]

    rig.on_new = watch
    changelog.put(revenue(1))
    follower = rig.follower(changelog.view)
    rig.until(lambda: is_caught_up(follower, changelog))
    assert found == [None]


def test_who_is_told_of_a_new_build_finds_it_served(
    rig: Rig, changelog: Changelog, client: Client
) -> None:
    found: list[tuple[str, str]] = []

    def watch(_: Followers, follower: Follower) -> None:
        def look() -> None:
            served = follower.served
            assert served is not None
            found.append((tag_of(served.topic_id, served.view), follower.tail.now.source.tag))

        follower.tail.listen(look)

    rig.on_new = watch
    changelog.put(revenue(1))
    follower = rig.follower(changelog.view)
    rig.until(lambda: is_caught_up(follower, changelog))
    vip = Column("vip", parse_type("boolean"))
    view = replace(changelog.view, version=2, columns=(*changelog.view.columns, vip))
    client.admin.views.define(view)
    rig.until(lambda: found[-1][1].endswith(view.fingerprint))
    assert [served for served, _ in found] == [told for _, told in found]


def test_a_view_that_is_defined_is_never_said_not_to_exist_while_definitions_are_read(
    rig: Rig, changelog: Changelog
) -> None:
    answers: list[type[Exception]] = []

    def ask(followers: Followers, follower: Follower) -> None:
        with pytest.raises((Unavailable, NotFound)) as raised:
            followers.get(follower.view.name)
        answers.append(raised.type)

    rig.on_new = ask
    rig.follower(changelog.view)
    assert set(answers) == {Unavailable}


def test_a_stopped_follower_goes_on_where_it_was(rig: Rig, changelog: Changelog) -> None:
    changelog.put(revenue(1))
    follower = rig.follower(changelog.view)
    rig.until(lambda: is_caught_up(follower, changelog))
    rig.stop()
    changelog.put(revenue(2))
    changelog.delete(minute="2026-09-01T10:00Z", customer=1)
    again = rig.follower(changelog.view)
    assert again.served is None or again.served.is_complete
    rig.until(lambda: is_caught_up(again, changelog))
    assert table(again) == changelog.table()
    assert again.tail.now.epoch == 1, "it was built again instead of continued"


def test_a_random_history_ends_as_the_topic_says(
    rig: Rig, new_changelog: Callable[..., Changelog]
) -> None:
    changelog, random = new_changelog(partitions=3), Random(7)
    follower = rig.follower(changelog.view)
    for number in range(3000):
        customer = random.randrange(200)
        if random.random() < 0.2:
            key = {"minute": "2026-09-01T10:00Z", "customer": customer}
            changelog.write(encode_key(changelog.view, key), None)
        else:
            changelog.start_put(revenue(customer, float(number)))
    changelog.flush()
    rig.until(lambda: is_caught_up(follower, changelog))
    assert table(follower) == changelog.table()


def test_an_aborted_transaction_is_never_seen(
    rig: Rig, changelog: Changelog, bootstrap: str
) -> None:
    view = changelog.view
    producer = Producer(
        {"bootstrap.servers": bootstrap, "transactional.id": view.name, "log_level": 0}
    )
    try:
        producer.init_transactions(10)
    except KafkaException as error:
        pytest.skip(f"this broker has no transactions: {error.args[0].str()}")
    follower = rig.follower(view)
    for number in range(6):
        producer.begin_transaction()
        for customer in (1, 2, 100 + number):
            row = revenue(customer, float(number))
            key = encode_key(view, {name: row[name] for name in view.key})
            producer.produce(view.topic, encode_row(view, row), key)
        producer.flush()
        if number % 2:
            producer.abort_transaction(10)
        else:
            producer.commit_transaction(10)
    rig.until(lambda: is_caught_up(follower, changelog))
    assert table(follower) == changelog.table()
    assert {each["total"] for each in table(follower)} == {0.0, 2.0, 4.0}
    assert follower.status().lag_records == 0, "markers of transactions count as lag"


def test_a_rebuild_serves_the_old_rows_until_the_new_ones_are_there(
    rig: Rig, changelog: Changelog
) -> None:
    for number in range(50):
        changelog.put(revenue(number))
    follower = rig.follower(changelog.view)
    rig.until(lambda: is_caught_up(follower, changelog))
    first = follower.served
    seen: list[int] = []
    follower.rebuild()
    while follower.served is first:
        seen.append(len(table(follower)))
    rig.until(lambda: is_caught_up(follower, changelog))
    assert set(seen) <= {50}
    assert follower.served is not first
    assert table(follower) == changelog.table()


def test_a_paused_follower_stands_still_and_its_lag_grows(rig: Rig, changelog: Changelog) -> None:
    changelog.put(revenue(1))
    follower = rig.follower(changelog.view)
    rig.until(lambda: is_caught_up(follower, changelog))
    follower.pause()
    rig.until(lambda: follower.status().state == "paused")
    before = table(follower)
    receipt = changelog.put(revenue(2))
    rig.until(lambda: (follower.status().lag_seconds or 0) > 0)
    rig.until(lambda: follower.status().lag_records == 1)
    assert table(follower) == before
    follower.resume()
    rig.until(lambda: (follower.status().as_of or {}).get(receipt.partition, 0) > receipt.offset)
    assert table(follower) == changelog.table()


def test_a_new_version_is_built_beside_the_old_one_and_takes_its_place(
    rig: Rig, changelog: Changelog, client: Client
) -> None:
    changelog.put(revenue(1, name="Ann"))
    follower = rig.follower(changelog.view)
    rig.until(lambda: is_caught_up(follower, changelog))
    old = changelog.view
    new = replace(old, version=2, columns=(*old.columns, Column("vip", parse_type("boolean"))))
    client.admin.views.define(new)
    changelog.view = new
    changelog.put({**revenue(2, name="Bob"), "vip": True})
    rig.until(
        lambda: (
            follower.served is not None
            and follower.served.view == new
            and is_caught_up(follower, changelog)
        )
    )
    assert [each["vip"] for each in table(follower)] == [None, True]


def test_another_comment_does_not_build_anything_again(
    rig: Rig, changelog: Changelog, client: Client
) -> None:
    changelog.put(revenue(1))
    follower = rig.follower(changelog.view)
    rig.until(lambda: is_caught_up(follower, changelog))
    first = follower.served
    client.admin.views.define(replace(changelog.view, comment="Revenue per minute"))
    rig.until(lambda: follower.view.comment == "Revenue per minute")
    receipt = changelog.put(revenue(2))
    rig.until(lambda: (follower.status().as_of or {}).get(receipt.partition, 0) > receipt.offset)
    assert follower.served is first


def test_a_view_that_is_dropped_is_forgotten_with_its_store(
    rig: Rig, changelog: Changelog, client: Client, tmp_path: Any
) -> None:
    changelog.put(revenue(1))
    follower = rig.follower(changelog.view)
    rig.until(lambda: is_caught_up(follower, changelog))
    client.admin.views.drop(changelog.view.name)
    rig.until(lambda: not (tmp_path / "views" / changelog.view.name).exists())
    assert follower.is_stopped


def test_a_definition_that_cannot_be_read_hurts_nobody_else(
    rig: Rig, changelog: Changelog, client: Client
) -> None:
    with client.producer(value_format="bytes") as producer:
        producer.send("__headwater.views", b"{", key="broken", partition=0)
    changelog.put(revenue(1))
    follower = rig.follower(changelog.view)
    rig.until(lambda: is_caught_up(follower, changelog))
    client.admin.views.drop("broken")
    assert table(follower) == changelog.table()


def test_a_definition_under_the_name_of_another_view_is_left_out(
    rig: Rig, changelog: Changelog, client: Client
) -> None:
    """Nobody could remove it: a deletion of its own name would last until the next start only."""
    hidden = make_view(new_name())
    with client.producer(value_format="bytes") as producer:
        producer.send(DEFINITIONS_TOPIC, encode_definition(hidden), key="other", partition=0)
    follower = rig.follower(changelog.view)
    rig.until(lambda: is_caught_up(follower, changelog))
    rig.stop()
    with pytest.raises(NotFound):
        rig.start().get(hidden.name)
    client.admin.views.drop("other")


def test_rows_before_a_change_are_told_only_to_those_who_ask(
    rig: Rig, changelog: Changelog
) -> None:
    changelog.put(revenue(1, 1.0))
    follower = rig.follower(changelog.view)
    rig.until(lambda: is_caught_up(follower, changelog))
    start = follower.tail.now
    changelog.put(revenue(1, 2.0))
    rig.until(lambda: follower.tail.now.number == start.number + 1)
    follower.wants_before += 1
    changelog.put(revenue(1, 3.0))
    rig.until(lambda: follower.tail.now.number == start.number + 2)
    first = follower.tail.at(start)
    assert first is not None
    second = follower.tail.at(start.next(first))
    assert second is not None
    assert first.before is None
    assert [each["total"] for each in (second.before or {}).values() if each] == [2.0]
