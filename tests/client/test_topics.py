"""Administering topics."""

from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from headwater.client import Client
from headwater.errors import Conflict, InvalidRequest, NotFound


def test_a_topic_is_created_listed_described_and_deleted(
    client: Client, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(partitions=3, **{"retention.ms": "3600000"})
    client.send(topic, 1, partition=1)
    (listed,) = [found for found in client.admin.topics.list() if found.name == topic]
    assert (listed.partitions, listed.replicas, listed.records) == (3, 1, 1)
    described = client.admin.topics.describe(topic)
    assert [(p.partition, p.start_offset, p.end_offset) for p in described.partitions] == [
        (0, 0, 0),
        (1, 0, 1),
        (2, 0, 0),
    ]
    configs = {config.name: config for config in described.configs}
    assert (configs["retention.ms"].value, configs["retention.ms"].source) == ("3600000", "topic")
    assert configs["cleanup.policy"].source == "default"
    client.admin.topics.delete(topic)
    assert topic not in client.admin.topics.names()


def test_creating_it_twice_is_a_conflict(client: Client, topic: str) -> None:
    with pytest.raises(Conflict, match="exists already"):
        client.admin.topics.create(topic)


@pytest.mark.parametrize("name", ["", "a b", "x" * 300])
def test_a_bad_name_is_refused(client: Client, name: str) -> None:
    with pytest.raises(InvalidRequest):
        client.admin.topics.create(name)


def test_a_setting_that_does_not_exist_gets_a_suggestion(client: Client, topic: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        client.admin.topics.create("t", configs={"retention.mss": "1"})
    assert refused.value.hint == "did you mean retention.ms?"
    with pytest.raises(InvalidRequest) as refused:
        client.admin.topics.alter(topic, set={"cleanup.polcy": "compact"})
    assert refused.value.hint == "did you mean cleanup.policy?"


def test_a_bad_value_of_a_setting_is_refused(client: Client, topic: str) -> None:
    with pytest.raises(InvalidRequest):
        client.admin.topics.alter(topic, set={"retention.ms": "soon"})


def test_settings_are_set_and_unset(client: Client, topic: str) -> None:
    def flush_ms() -> tuple[str | None, str]:
        configs = {config.name: config for config in client.admin.topics.configs(topic)}
        return configs["flush.ms"].value, configs["flush.ms"].source

    default = flush_ms()
    client.admin.topics.alter(topic, set={"flush.ms": "1000"})
    assert flush_ms() == ("1000", "topic")
    client.admin.topics.alter(topic, unset=["flush.ms"])
    assert flush_ms() == default


def test_partitions_are_added_and_never_taken_away(client: Client, topic: str) -> None:
    client.admin.topics.add_partitions(topic, total=4)
    assert len(client.admin.topics.describe(topic).partitions) == 4
    with pytest.raises(InvalidRequest):
        client.admin.topics.add_partitions(topic, total=2)


def test_trim_removes_what_its_plan_says(client: Client, topic: str) -> None:
    for number in range(10):
        client.send(topic, number)
    plan = client.admin.topics.plan_trim(topic, before="-3")
    assert [(t.partition, t.before, t.after, t.end, t.records) for t in plan.trims] == [
        (0, 0, 7, 10, 7)
    ]
    client.admin.topics.trim(plan)
    assert client.admin.topics.describe(topic).partitions[0].start_offset == 7
    with client.consumer(topic, until="end") as records:
        assert [record.value for record in records] == [7, 8, 9]


def test_an_offset_beyond_the_end_does_not_trim_everything(client: Client, topic: str) -> None:
    for number in range(3):
        client.send(topic, number)
    with pytest.raises(
        Conflict, match=f"offset 99 is not in {topic}/0, which ends at 3"
    ) as refused:
        client.admin.topics.plan_trim(topic, before=99)
    assert "position end" in refused.value.hint
    assert client.admin.topics.plan_trim(topic, before=3).records == 3


def test_an_offset_beyond_the_end_of_a_partition_without_records_is_no_mistake(
    client: Client, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(partitions=2)
    for number in range(3):
        client.send(topic, number, partition=0)
    assert client.admin.topics.plan_trim(topic, before=2).records == 2


def test_a_compacted_topic_is_not_trimmed_and_says_why(
    client: Client, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(**{"cleanup.policy": "compact"})
    client.send(topic, 1, key="k")
    plan = client.admin.topics.plan_trim(topic, before="end")
    with pytest.raises(Conflict, match=r"cleanup\.policy=compact") as refused:
        client.admin.topics.trim(plan)
    assert "cleanup.policy=compact,delete" in refused.value.hint


def test_a_name_that_collides_is_called_that_and_not_invalid(
    client: Client, new_topic: Callable[..., str]
) -> None:
    taken = new_topic()
    client.admin.topics.create(f"{taken}.x")
    try:
        with pytest.raises(InvalidRequest, match="collides") as refused:
            client.admin.topics.create(f"{taken}_x")
    finally:
        client.admin.topics.delete(f"{taken}.x")
    assert refused.value.hint == "choose another name"


def test_a_topic_that_does_not_exist_is_not_found(client: Client) -> None:
    topics = client.admin.topics
    for call in (
        lambda: topics.describe("no-such-topic"),
        lambda: topics.delete("no-such-topic"),
        lambda: topics.alter("no-such-topic", set={"retention.ms": "1"}),
        lambda: topics.plan_trim("no-such-topic", before="end"),
    ):
        with pytest.raises(NotFound):
            call()


def test_the_end_of_a_partition_that_there_is_not_is_not_found(client: Client, topic: str) -> None:
    for name, partition in (("nosuch", 0), (topic, 7)):
        with pytest.raises(NotFound, match=f"no partition {partition} of topic '{name}'"):
            client.admin.topics.ends(name, [partition])


def test_an_end_may_count_what_is_not_committed_yet(
    client: Client, bootstrap: str, topic: str
) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, b"x", partition=0)
    producer.flush()
    assert client.admin.topics.ends(topic, [0]) == {0: 0}
    assert client.admin.topics.ends(topic, [0], uncommitted=True) == {0: 1}
    producer.abort_transaction()


def test_the_cluster_says_who_answers(client: Client, bootstrap: str) -> None:
    cluster = client.admin.cluster()
    assert cluster.id
    assert bootstrap in {f"{node.host}:{node.port}" for node in cluster.nodes}
