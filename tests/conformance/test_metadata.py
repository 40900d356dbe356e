"""Metadata: the topics there are, where their partitions live, and topics made by asking."""

from uuid import uuid4

import pytest

from conformance.calls import create_topic, eventually, topic_id
from conformance.conftest import NewTopic
from conformance.raw import Connection, ErrorCode

NOT_ASKED = -(2**31)
# Bits by AclOperation code: Read Write Create Delete Alter Describe DescribeConfigs AlterConfigs.
TOPIC_OPERATIONS = sum(1 << code for code in (3, 4, 5, 6, 7, 8, 10, 11))
# Create Alter Describe ClusterAction DescribeConfigs AlterConfigs IdempotentWrite.
CLUSTER_OPERATIONS = sum(1 << code for code in (5, 7, 8, 9, 10, 11, 12))


@pytest.mark.parametrize("version", range(14))
def test_describes_a_topic_in_every_version(
    connection: Connection, new_topic: NewTopic, version: int
):
    name = new_topic(partitions=3)

    response = connection.request("metadata", version, topics=[{"name": name}])

    (topic,) = response.topics
    assert (topic.error_code, topic.name) == (ErrorCode.none, name)
    assert sorted(partition.partition_index for partition in topic.partitions) == [0, 1, 2]
    (broker,) = response.brokers
    for partition in topic.partitions:
        assert partition.error_code == ErrorCode.none
        assert partition.leader_id == broker.node_id
        assert partition.replica_nodes == partition.isr_nodes == [broker.node_id]


def test_names_the_broker_as_it_can_be_reached(connection: Connection, bootstrap: str):
    response = connection.request("metadata", 12, topics=[])

    (broker,) = response.brokers
    assert f"{broker.host}:{broker.port}" == bootstrap
    assert response.controller_id == broker.node_id
    assert broker.rack is None


def test_cluster_id_is_there_and_stays(connection: Connection):
    first = connection.request("metadata", 12, topics=[])
    second = connection.request("metadata", 2, topics=[])

    assert first.cluster_id
    assert first.cluster_id == second.cluster_id


def test_version_0_asks_for_all_topics_with_an_empty_list(connection: Connection, topic: str):
    response = connection.request("metadata", 0, topics=[])

    assert topic in {answer.name for answer in response.topics}


def test_null_asks_for_all_topics(connection: Connection, topic: str):
    response = connection.request("metadata", 12, topics=None)

    assert topic in {answer.name for answer in response.topics}
    assert all(answer.error_code == ErrorCode.none for answer in response.topics)


@pytest.mark.usefixtures("topic")
def test_empty_list_asks_for_no_topic(connection: Connection):
    response = connection.request("metadata", 12, topics=[])

    assert response.topics == []
    assert response.brokers != []


def test_topic_has_an_id_that_is_the_same_in_every_answer(connection: Connection, topic: str):
    by_name = connection.request("metadata", 12, topics=[{"name": topic}])
    of_all = connection.request("metadata", 10, topics=None)

    (answer,) = by_name.topics
    assert answer.topic_id is not None
    assert {other.name: other.topic_id for other in of_all.topics}[topic] == answer.topic_id


def test_topic_can_be_asked_for_by_its_id(connection: Connection, topic: str):
    identity = topic_id(connection, topic)

    response = connection.request("metadata", 12, topics=[{"topic_id": identity, "name": None}])

    (answer,) = response.topics
    assert (answer.error_code, answer.name) == (ErrorCode.none, topic)
    assert len(answer.partitions) == 1


def test_id_counts_more_than_the_name_beside_it(connection: Connection, new_topic: NewTopic):
    by_id, by_name = new_topic(), new_topic()
    asked = {"topic_id": topic_id(connection, by_id), "name": by_name}

    response = connection.request("metadata", 12, topics=[asked])

    (answer,) = response.topics
    assert (answer.error_code, answer.name) == (ErrorCode.none, by_id)


@pytest.mark.parametrize("version", [10, 11])
def test_id_cannot_be_asked_for_before_version_12(connection: Connection, topic: str, version: int):
    asked = {"topic_id": topic_id(connection, topic), "name": topic}

    response = connection.request("metadata", version, topics=[asked])

    assert [one.error_code for one in response.topics] == [ErrorCode.invalid_request]
    assert response.topics[0].partitions == []


def test_unknown_topic_id_is_an_error_of_its_own(connection: Connection):
    unknown = uuid4()

    response = connection.request("metadata", 12, topics=[{"topic_id": unknown, "name": None}])

    (answer,) = response.topics
    assert answer.error_code == ErrorCode.unknown_topic_id
    assert (answer.topic_id, answer.name, answer.partitions) == (unknown, None, [])


def test_unknown_topic_is_not_created_unless_asked_for(connection: Connection, name: str):
    for _ in range(2):
        response = connection.request(
            "metadata", 12, topics=[{"name": name}], allow_auto_topic_creation=False
        )
        (answer,) = response.topics
        assert answer.error_code == ErrorCode.unknown_topic_or_partition
        assert (answer.name, answer.partitions) == (name, [])


def test_topic_is_created_by_asking_for_it(connection: Connection, name: str):
    def ask():
        response = connection.request(
            "metadata", 12, topics=[{"name": name}], allow_auto_topic_creation=True
        )
        return response.topics[0]

    first = ask()
    assert first.error_code in {
        ErrorCode.none,
        ErrorCode.leader_not_available,
        ErrorCode.unknown_topic_or_partition,
    }
    created = eventually(lambda: answer if (answer := ask()).partitions else None)
    assert created.error_code == ErrorCode.none
    assert len(created.partitions) == 1


@pytest.mark.parametrize("version", [0, 3])
def test_old_versions_always_create(connection: Connection, name: str, version: int):
    def is_created() -> bool:
        response = connection.request("metadata", version, topics=[{"name": name}])
        return response.topics[0].error_code == ErrorCode.none

    eventually(is_created)


@pytest.mark.parametrize("bad_name", ["", "a b", "a/b", "..", ".", "x" * 250])
def test_invalid_name_is_refused_and_not_created(connection: Connection, bad_name: str):
    response = connection.request(
        "metadata", 12, topics=[{"name": bad_name}], allow_auto_topic_creation=True
    )

    (answer,) = response.topics
    assert answer.error_code == ErrorCode.invalid_topic_exception
    assert answer.partitions == []


def test_name_that_collides_with_another_is_not_created(connection: Connection, name: str):
    create_topic(connection, f"{name}.x")
    twin = [{"name": f"{name}_x"}]

    for _ in range(2):
        response = connection.request("metadata", 12, topics=twin, allow_auto_topic_creation=True)
        (answer,) = response.topics
        # Kafka's client asks again until it gives up; ours is told that it need not.
        assert answer.error_code in {
            ErrorCode.unknown_topic_or_partition,
            ErrorCode.invalid_topic_exception,
        }
        assert answer.partitions == []


def test_one_bad_topic_does_not_spoil_the_others(connection: Connection, topic: str, name: str):
    response = connection.request(
        "metadata",
        12,
        topics=[{"name": name}, {"name": topic}],
        allow_auto_topic_creation=False,
    )

    answers = {answer.name: answer.error_code for answer in response.topics}
    assert answers == {name: ErrorCode.unknown_topic_or_partition, topic: ErrorCode.none}


def test_leader_epoch_and_offline_replicas(connection: Connection, topic: str):
    response = connection.request("metadata", 12, topics=[{"name": topic}])

    (partition,) = response.topics[0].partitions
    assert partition.leader_epoch == 0
    assert partition.offline_replicas == []


def test_operations_are_listed_only_when_asked_for(connection: Connection, topic: str):
    silent = connection.request("metadata", 8, topics=[{"name": topic}])
    asked = connection.request(
        "metadata",
        8,
        topics=[{"name": topic}],
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )

    assert silent.topics[0].topic_authorized_operations == NOT_ASKED
    assert silent.cluster_authorized_operations == NOT_ASKED
    assert asked.topics[0].topic_authorized_operations == TOPIC_OPERATIONS
    assert asked.cluster_authorized_operations == CLUSTER_OPERATIONS


@pytest.mark.usefixtures("coordinator")
def test_ordinary_topics_are_not_internal_and_the_offsets_topic_is(
    connection: Connection, topic: str
):
    response = connection.request(
        "metadata", 12, topics=[{"name": topic}, {"name": "__consumer_offsets"}]
    )

    assert {answer.name: answer.is_internal for answer in response.topics} == {
        topic: False,
        "__consumer_offsets": True,
    }
