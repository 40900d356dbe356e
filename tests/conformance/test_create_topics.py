"""CreateTopics: what is created, what is refused and with which error."""

from typing import Any
from uuid import uuid4

import pytest

from conformance.calls import await_topic, eventually, topic_metadata, topic_to_create
from conformance.conftest import NewTopic
from conformance.raw import Connection, ErrorCode


def create(connection: Connection, *topics: dict[str, Any], **fields: Any) -> list[Any]:
    response = connection.request("create_topics", 7, topics=topics, timeout=10_000, **fields)
    return response.topics


def error_of(connection: Connection, **topic: Any) -> ErrorCode:
    (answer,) = create(connection, {"num_partitions": 1, "replication_factor": 1} | topic)
    return answer.error_code


def configs_of(answer: Any) -> dict[str, tuple[str | None, int]]:
    return {config.name: (config.value, config.config_source) for config in answer.configs}


def exists(connection: Connection, name: str) -> bool:
    return topic_metadata(connection, name).error_code == ErrorCode.none


@pytest.mark.parametrize("version", range(2, 8))
def test_creates_in_every_version(connection: Connection, name: str, version: int):
    response = connection.request(
        "create_topics", version, topics=[topic_to_create(name, 2)], timeout=10_000
    )

    assert response.topics[0].error_code == ErrorCode.none
    assert response.topics[0].error_message is None
    await_topic(connection, name, 2)
    assert len(topic_metadata(connection, name).partitions) == 2


def test_answer_has_the_id_and_the_shape_of_the_topic(connection: Connection, name: str):
    (answer,) = create(connection, topic_to_create(name, 3))

    assert (answer.num_partitions, answer.replication_factor) == (3, 1)
    await_topic(connection, name, 3)
    assert answer.topic_id == topic_metadata(connection, name).topic_id


def test_answer_lists_every_config_with_its_source(connection: Connection, name: str):
    (answer,) = create(connection, topic_to_create(name, configs={"retention.ms": "1234"}))

    configs = configs_of(answer)
    assert configs["retention.ms"] == ("1234", 1)
    assert configs["cleanup.policy"] == ("delete", 5)
    assert configs["max.message.bytes"] == ("1048588", 5)
    assert all(source >= 0 for _value, source in configs.values())
    assert not any(config.read_only or config.is_sensitive for config in answer.configs)


def test_minus_one_means_the_default_of_the_broker(connection: Connection, name: str):
    (answer,) = create(connection, topic_to_create(name, -1, -1))

    assert answer.error_code == ErrorCode.none
    assert (answer.num_partitions, answer.replication_factor) == (1, 1)


def test_existing_topic_is_refused(connection: Connection, topic: str):
    (answer,) = create(connection, topic_to_create(topic))

    assert answer.error_code == ErrorCode.topic_already_exists
    assert topic in answer.error_message


@pytest.mark.parametrize("bad_name", ["", ".", "..", "a b", "a/b", "ä", "x" * 250])
def test_invalid_name_is_refused(connection: Connection, bad_name: str):
    assert error_of(connection, name=bad_name) == ErrorCode.invalid_topic_exception


def test_longest_name_and_every_allowed_character(connection: Connection):
    name = f"{uuid4().hex}.A-z_09".ljust(249, "x")

    assert error_of(connection, name=name) == ErrorCode.none


def test_names_that_differ_only_in_dot_and_underscore_collide(connection: Connection, name: str):
    assert error_of(connection, name=f"{name}.x") == ErrorCode.none

    assert error_of(connection, name=f"{name}_x") == ErrorCode.invalid_topic_exception


def test_configs_that_contradict_each_other_are_refused(connection: Connection, name: str):
    configs = {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"}

    (answer,) = create(connection, topic_to_create(name, configs=configs))

    assert answer.error_code == ErrorCode.invalid_config


@pytest.mark.parametrize("partitions", [0, -2])
def test_bad_partition_count_is_refused(connection: Connection, name: str, partitions: int):
    assert (
        error_of(connection, name=name, num_partitions=partitions) == ErrorCode.invalid_partitions
    )


@pytest.mark.parametrize("factor", [0, -2, 2])
def test_bad_replication_factor_is_refused(connection: Connection, name: str, factor: int):
    assert (
        error_of(connection, name=name, replication_factor=factor)
        == ErrorCode.invalid_replication_factor
    )


@pytest.mark.parametrize(
    ("config", "value"),
    [
        ("no.such.config", "1"),
        ("retention.ms", "abc"),
        ("retention.ms", "-2"),
        ("retention.ms", None),
        ("cleanup.policy", "shred"),
        ("segment.bytes", "10"),
        ("max.message.bytes", "-1"),
        ("compression.type", "rar"),
        ("message.timestamp.type", "Never"),
        ("min.cleanable.dirty.ratio", "1.5"),
        ("min.insync.replicas", "0"),
        ("compression.gzip.level", "0"),
        ("index.interval.bytes", "2147483648"),
        ("remote.storage.enable", "true"),
        ("leader.replication.throttled.replicas", "0:1,2"),
        ("follower.replication.throttled.replicas", "*,0:1"),
    ],
)
def test_bad_config_is_refused(connection: Connection, name: str, config: str, value: str | None):
    (answer,) = create(connection, topic_to_create(name, configs={config: value}))

    assert answer.error_code == ErrorCode.invalid_config
    assert answer.error_message
    assert not exists(connection, name)


@pytest.mark.parametrize(
    ("config", "value"),
    [
        ("retention.ms", "-1"),
        ("retention.bytes", "1000000"),
        ("retention.bytes", "-2"),
        ("segment.bytes", "1048576"),
        ("segment.ms", "60000"),
        ("cleanup.policy", "compact"),
        ("cleanup.policy", "compact,delete"),
        ("cleanup.policy", ""),
        ("leader.replication.throttled.replicas", "*"),
        ("follower.replication.throttled.replicas", "0:1,1:1"),
        ("delete.retention.ms", "0"),
        ("min.compaction.lag.ms", "1"),
        ("max.compaction.lag.ms", "10"),
        ("min.cleanable.dirty.ratio", "0.01"),
        ("max.message.bytes", "2000"),
        ("message.timestamp.type", "LogAppendTime"),
        ("message.timestamp.before.max.ms", "5000"),
        ("message.timestamp.after.max.ms", "5000"),
        ("flush.messages", "1"),
        ("flush.ms", "100"),
        ("compression.type", "zstd"),
        ("min.insync.replicas", "1"),
        ("preallocate", "false"),
        ("index.interval.bytes", "4096"),
        ("unclean.leader.election.enable", "true"),
    ],
)
def test_config_is_kept(connection: Connection, name: str, config: str, value: str):
    (answer,) = create(connection, topic_to_create(name, configs={config: value}))

    assert answer.error_code == ErrorCode.none
    assert configs_of(answer)[config] == (value, 1)


def test_validate_only_creates_nothing(connection: Connection, name: str):
    (answer,) = create(connection, topic_to_create(name, 4), validate_only=True)

    assert (answer.error_code, answer.num_partitions) == (ErrorCode.none, 4)
    assert configs_of(answer)["cleanup.policy"] == ("delete", 5)
    assert error_of(connection, name=name) == ErrorCode.none


def test_validate_only_finds_errors(connection: Connection, topic: str, name: str):
    existing, bad = create(
        connection,
        topic_to_create(topic),
        topic_to_create(name, configs={"retention.ms": "abc"}),
        validate_only=True,
    )

    assert existing.error_code == ErrorCode.topic_already_exists
    assert bad.error_code == ErrorCode.invalid_config


def test_topic_named_twice_in_one_request_is_created_by_neither(connection: Connection, name: str):
    answers = create(connection, topic_to_create(name), topic_to_create(name, 2))

    assert [answer.error_code for answer in answers] == [ErrorCode.invalid_request]
    assert not exists(connection, name)


def test_one_bad_topic_does_not_spoil_the_others(connection: Connection, name: str):
    answers = create(connection, topic_to_create(f"{name}-bad", 0), topic_to_create(f"{name}-good"))

    assert {answer.name: answer.error_code for answer in answers} == {
        f"{name}-bad": ErrorCode.invalid_partitions,
        f"{name}-good": ErrorCode.none,
    }


def test_manual_assignment(connection: Connection, name: str):
    node = connection.request("metadata", 12, topics=[]).brokers[0].node_id
    assignments = [{"partition_index": index, "broker_ids": [node]} for index in range(2)]

    assert (
        error_of(
            connection,
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=assignments,
        )
        == ErrorCode.none
    )
    await_topic(connection, name, 2)


def test_assignment_to_an_unknown_broker_is_refused(connection: Connection, name: str):
    assert (
        error_of(
            connection,
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[{"partition_index": 0, "broker_ids": [999]}],
        )
        == ErrorCode.invalid_replica_assignment
    )


def test_assignment_with_a_gap_is_refused(connection: Connection, name: str):
    node = connection.request("metadata", 12, topics=[]).brokers[0].node_id
    assert (
        error_of(
            connection,
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[
                {"partition_index": 0, "broker_ids": [node]},
                {"partition_index": 2, "broker_ids": [node]},
            ],
        )
        == ErrorCode.invalid_replica_assignment
    )


@pytest.mark.parametrize("counts", [(1, -1), (-1, 1)])
def test_assignment_beside_counts_is_refused(
    connection: Connection, name: str, counts: tuple[int, int]
):
    node = connection.request("metadata", 12, topics=[]).brokers[0].node_id
    assert (
        error_of(
            connection,
            name=name,
            num_partitions=counts[0],
            replication_factor=counts[1],
            assignments=[{"partition_index": 0, "broker_ids": [node]}],
        )
        == ErrorCode.invalid_request
    )


def test_topic_of_a_deleted_name_is_another_topic(connection: Connection, new_topic: NewTopic):
    name = new_topic()
    before = topic_metadata(connection, name).topic_id
    connection.request("delete_topics", 5, topic_names=[name], timeout=10_000)

    eventually(lambda: error_of(connection, name=name) == ErrorCode.none)

    await_topic(connection, name, 1)
    assert topic_metadata(connection, name).topic_id != before
