"""DescribeCluster and DescribeLogDirs: what consoles ask first."""

from typing import Any

import pytest

from conformance.batches import batch
from conformance.calls import append
from conformance.conftest import NewTopic
from conformance.raw import Connection, ErrorCode

# Create Alter Describe ClusterAction DescribeConfigs AlterConfigs IdempotentWrite.
CLUSTER_OPERATIONS = sum(1 << code for code in (5, 7, 8, 9, 10, 11, 12))


@pytest.mark.parametrize("version", [0, 1, 2])
def test_cluster_is_one_broker(connection: Connection, bootstrap: str, version: int):
    response = connection.request("describe_cluster", version)
    metadata = connection.request("metadata", 12, topics=[])

    assert response.error_code == ErrorCode.none
    assert response.cluster_id == metadata.cluster_id
    (broker,) = response.brokers
    assert f"{broker.host}:{broker.port}" == bootstrap
    assert response.controller_id == broker.broker_id == metadata.brokers[0].node_id
    assert broker.rack is None


def test_cluster_operations_only_when_asked_for(connection: Connection):
    silent = connection.request("describe_cluster", 1)
    asked = connection.request("describe_cluster", 1, include_cluster_authorized_operations=True)

    assert silent.cluster_authorized_operations == -(2**31)
    assert asked.cluster_authorized_operations == CLUSTER_OPERATIONS


def test_broker_is_not_fenced(connection: Connection):
    response = connection.request("describe_cluster", 2, include_fenced_brokers=True)

    assert [broker.is_fenced for broker in response.brokers] == [False]


def test_controllers_cannot_be_asked_for_at_a_broker(connection: Connection):
    response = connection.request("describe_cluster", 1, endpoint_type=2)

    assert response.error_code == ErrorCode.mismatched_endpoint_type


def log_dirs(connection: Connection, topics: list[dict[str, Any]] | None, version: int = 4) -> Any:
    return connection.request("describe_log_dirs", version, topics=topics)


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_log_dir_lists_the_partitions_with_their_size(
    connection: Connection, new_topic: NewTopic, version: int
):
    topic = new_topic(partitions=2)
    records = batch(b"x" * 1000)
    append(connection, topic, records, records, partition=1)

    response = log_dirs(connection, [{"topic": topic, "partitions": [0, 1]}], version)

    (directory,) = response.results
    assert directory.error_code == ErrorCode.none
    assert directory.log_dir
    (listed,) = directory.topics
    assert listed.name == topic
    sizes = {one.partition_index: one.partition_size for one in listed.partitions}
    assert sizes == {0: 0, 1: 2 * len(records)}
    assert all(one.offset_lag == 0 and not one.is_future_key for one in listed.partitions)


def test_log_dir_of_all_topics(connection: Connection, topic: str):
    response = log_dirs(connection, None)

    assert topic in {listed.name for listed in response.results[0].topics}


def test_log_dir_knows_the_size_of_its_volume(connection: Connection):
    (directory,) = log_dirs(connection, []).results

    assert directory.total_bytes > directory.usable_bytes > 0


def test_log_dir_leaves_out_topics_without_the_asked_partitions(connection: Connection, topic: str):
    response = connection.request(
        "describe_log_dirs", 4, topics=[{"topic": topic, "partitions": [7]}]
    )

    assert response.results[0].topics == []


def test_log_dir_leaves_out_unknown_topics(connection: Connection, name: str):
    (directory,) = log_dirs(connection, [{"topic": name, "partitions": [0]}]).results

    assert directory.topics == []
