"""Administering groups: lag in records and seconds, moving, deleting."""

from collections.abc import Callable

import pytest
from confluent_kafka import Consumer

from headwater.client import Client
from headwater.clock import SystemClock
from headwater.errors import Conflict, InvalidRequest, NotFound


def read(client: Client, topic: str, group: str, count: int) -> None:
    with client.consumer(topic, group=group) as records:
        for _ in range(count):
            next(records)


def test_lag_is_counted_in_records_and_in_seconds(
    client: Client, new_topic: Callable[..., str], group: str
) -> None:
    topic = new_topic(partitions=2)
    hour_ago = SystemClock().now_ms() - 3_600_000
    for number in range(3):
        client.send(topic, number, partition=0, timestamp=hour_ago + number * 60_000)
    read(client, topic, group, 1)
    described = client.admin.groups.describe(group)
    first, second = described.partitions
    assert (first.committed, first.end, first.lag) == (1, 3, 2)
    assert first.lag_seconds == pytest.approx(3600 - 60, abs=30)
    assert (second.committed, second.end, second.lag, second.lag_seconds) == (0, 0, 0, 0.0)
    assert described.lag == 2
    assert described.lag_seconds == first.lag_seconds
    assert (described.state, described.members) == ("empty", ())


def test_live_members_are_shown(client: Client, topic: str, group: str) -> None:
    client.send(topic, 1)
    with client.consumer(topic, group=group) as records:
        next(records)
        described = client.admin.groups.describe(group)
        (member,) = described.members
        assert described.state == "stable"
        assert member.partitions == ((topic, 0),)
        assert described.partitions[0].member == "headwater"
        assert group in {found.group for found in client.admin.groups.list()}


@pytest.mark.parametrize(
    ("to", "after"), [("start", 0), ("end", 10), (4, 4), ("-3", 7), ("+2", 2), ("99", 10)]
)
def test_seek_moves_the_group_where_its_plan_says(
    client: Client, topic: str, group: str, to: str | int, after: int
) -> None:
    for number in range(10):
        client.send(topic, number)
    read(client, topic, group, 5)
    plan = client.admin.groups.plan_seek(group, to=to)
    (move,) = plan.moves
    assert (move.topic, move.partition, move.before, move.after, move.end) == (
        topic,
        0,
        5,
        after,
        10,
    )
    client.admin.groups.seek(plan)
    assert client.admin.groups.describe(group).partitions[0].committed == after


def test_a_group_with_live_members_is_not_moved(client: Client, topic: str, group: str) -> None:
    client.send(topic, 1)
    with client.consumer(topic, group=group) as records:
        next(records)
        records.commit()
        plan = client.admin.groups.plan_seek(group, to="start")
        with pytest.raises(Conflict, match="1 live member, so it cannot be moved"):
            client.admin.groups.seek(plan)
        with pytest.raises(Conflict, match="live members"):
            client.admin.groups.delete(group)


def test_a_group_is_put_where_another_stands(client: Client, topic: str, group: str) -> None:
    for number in range(5):
        client.send(topic, number)
    read(client, topic, group, 3)
    copy = f"{group}-copy"
    plan = client.admin.groups.plan_seek_to_group(copy, other=group)
    client.admin.groups.seek(plan)
    assert client.admin.groups.describe(copy).partitions[0].committed == 3


def test_a_new_group_is_placed_in_the_topics_named(client: Client, topic: str, group: str) -> None:
    client.send(topic, 1)
    client.admin.groups.seek(client.admin.groups.plan_seek(group, to="end", topics=[topic]))
    assert client.admin.groups.describe(group).partitions[0].committed == 1
    with pytest.raises(NotFound, match="no position"):
        client.admin.groups.plan_seek(f"{group}-2", to="end")


@pytest.mark.parametrize("state", ["empty", "EMPTY", "Empty"])
def test_a_state_is_found_in_any_case(client: Client, topic: str, group: str, state: str) -> None:
    client.send(topic, 1)
    read(client, topic, group, 1)
    assert group in {found.group for found in client.admin.groups.describe_all(state)}


def test_a_state_that_does_not_exist_is_not_an_empty_list(client: Client) -> None:
    with pytest.raises(InvalidRequest, match="no state 'foo'") as refused:
        client.admin.groups.describe_all("foo")
    assert "stable" in refused.value.hint


def test_a_deleted_group_is_gone(client: Client, topic: str, group: str) -> None:
    client.send(topic, 1)
    read(client, topic, group, 1)
    client.admin.groups.delete(group)
    with pytest.raises(NotFound):
        client.admin.groups.describe(group)
    with pytest.raises(NotFound):
        client.admin.groups.delete(group)


def test_share_in_a_deleted_topic_hides_nothing_else(
    bootstrap: str, client: Client, new_topic: Callable[..., str], group: str
) -> None:
    kept, deleted = new_topic(), new_topic()
    for topic in (kept, deleted):
        client.send(topic, 1)
    options = {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
    member = Consumer({**options, "enable.auto.commit": False})
    try:
        member.subscribe([kept, deleted])
        while len(member.assignment()) < 2:
            member.poll(0.1)
        client.admin.topics.delete(deleted)

        described = client.admin.groups.describe(group)

        assert [each.topic for each in described.partitions] == [kept]
    finally:
        member.close()
