"""What a broker knows after it was stopped, and after it was killed: everything it had confirmed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from conformance.batches import Codec, batch
from conformance.calls import (
    append,
    await_topic,
    create_topic,
    eventually,
    fetch,
    list_offset,
    new_producer_id,
    produce,
    read_all,
    topic_metadata,
)
from conformance.members import Member, state_of
from conformance.raw import Connection, ErrorCode
from rigs.apache_kafka import ApacheKafka
from rigs.headwater_process import HeadwaterProcess


@dataclass
class Before:
    """What was there before the restart, and a connection to the broker after it."""

    connection: Connection
    ended: str
    topic: str
    topic_id: Any
    cluster_id: str
    values: list[bytes]
    producer_id: int
    group: str
    member: Member


@pytest.fixture(scope="module", params=["stopped", "killed"])
def before(
    request: pytest.FixtureRequest, own_broker: HeadwaterProcess | ApacheKafka
) -> Iterator[Before]:
    with Connection(own_broker.bootstrap) as connection:
        before = prepare(connection, request.param)
    if request.param == "killed":
        own_broker.kill()
    own_broker.restart()
    with Connection(own_broker.bootstrap) as connection:
        before.connection = before.member.connection = connection
        await_topic(connection, before.topic, 2)
        eventually(lambda: coordinates(connection, before.group))
        yield before


def prepare(connection: Connection, ended: str) -> Before:
    topic, group = f"restart-{uuid4().hex[:12]}", f"restart-{uuid4().hex[:12]}"
    create_topic(connection, topic, 2, {"retention.ms": "86400000", "cleanup.policy": "delete"})
    values = [b"%d" % index for index in range(100)]
    append(connection, topic, batch(*values[:50]), batch(*values[50:], codec=Codec.lz4))
    append(connection, topic, batch(*values[:10]), partition=1)
    connection.request(
        "delete_records",
        2,
        topics=[{"name": topic, "partitions": [{"partition_index": 1, "offset": 4}]}],
        timeout=10_000,
    )
    producer_id = new_producer_id(connection)
    for sequence in range(3):
        append(connection, topic, sequenced(producer_id, sequence), partition=1)
    eventually(lambda: coordinates(connection, group))
    member = Member(connection, group, session_timeout_ms=60_000)
    member.enter_alone(b"assigned")
    commit(connection, member, topic, 7)
    return Before(
        connection,
        ended,
        topic,
        topic_metadata(connection, topic).topic_id,
        connection.request("metadata", 12, topics=[]).cluster_id,
        values,
        producer_id,
        group,
        member,
    )


def sequenced(producer_id: int, sequence: int) -> bytes:
    return batch(b"once", producer_id=producer_id, producer_epoch=0, base_sequence=sequence)


def commit(connection: Connection, member: Member, topic: str, offset: int) -> None:
    committed = {"partition_index": 0, "committed_offset": offset, "committed_metadata": "note"}
    response = connection.request(
        "offset_commit",
        8,
        group_id=member.group,
        generation_id_or_member_epoch=member.generation,
        member_id=member.member_id,
        topics=[{"name": topic, "partitions": [committed]}],
    )
    assert response.topics[0].partitions[0].error_code == ErrorCode.none


def coordinates(connection: Connection, group: str) -> bool:
    found = connection.request("find_coordinator", 4, key_type=0, coordinator_keys=[group])
    if found.coordinators[0].error_code != ErrorCode.none:
        return False
    answer = connection.request("offset_fetch", 7, group_id=group, topics=None)
    return bool(answer.error_code == ErrorCode.none)


def test_topic_keeps_its_id_its_partitions_and_its_configs(before: Before):
    described = topic_metadata(before.connection, before.topic)
    configs = before.connection.request(
        "describe_configs",
        4,
        resources=[
            {
                "resource_type": 2,
                "resource_name": before.topic,
                "configuration_keys": ["retention.ms"],
            }
        ],
    )

    assert (described.topic_id, len(described.partitions)) == (before.topic_id, 2)
    (retention,) = configs.results[0].configs
    assert (retention.value, retention.config_source) == ("86400000", 1)


def test_cluster_id_stays(before: Before):
    metadata = before.connection.request("metadata", 12, topics=[])

    assert metadata.cluster_id == before.cluster_id


def test_acknowledged_records_are_there_in_order(before: Before):
    batches = read_all(before.connection, before.topic)

    assert [value for one in batches for value in one.values][:100] == before.values


def test_start_of_the_log_stays(before: Before):
    if before.ended == "killed":
        pytest.skip("Kafka writes down the start of a log once a minute, and when it is stopped")
    assert list_offset(before.connection, before.topic, -2, partition=1).offset == 4
    answer = fetch(before.connection, before.topic, 3, partition=1)
    assert answer.error_code == ErrorCode.offset_out_of_range


def test_end_of_the_log_goes_on(before: Before):
    end = list_offset(before.connection, before.topic, -1).offset

    assert append(before.connection, before.topic, batch(b"next")) == end


def test_retry_across_the_restart_is_stored_once(before: Before):
    again = produce(before.connection, before.topic, sequenced(before.producer_id, 2), partition=1)

    assert (again.error_code, again.base_offset) == (ErrorCode.none, 12)


def test_gap_in_the_sequence_is_still_found(before: Before):
    answer = produce(before.connection, before.topic, sequenced(before.producer_id, 9), partition=1)

    assert answer.error_code == ErrorCode.out_of_order_sequence_number


def test_new_producer_ids_are_new(before: Before):
    assert new_producer_id(before.connection) != before.producer_id


def test_committed_offset_and_its_metadata_stay(before: Before):
    response = before.connection.request(
        "offset_fetch",
        7,
        group_id=before.group,
        topics=[{"name": before.topic, "partition_indexes": [0]}],
    )

    (committed,) = response.topics[0].partitions
    assert (committed.committed_offset, committed.metadata) == (7, "note")


def test_member_goes_on_without_a_rebalance(before: Before):
    assert before.member.heartbeat() == ErrorCode.none
    assert before.member.sync().assignment == b"assigned"
    assert state_of(before.connection, before.group) == "Stable"


def test_records_can_be_found_by_time(before: Before):
    answer = list_offset(before.connection, before.topic, 0)

    assert (answer.error_code, answer.offset) == (ErrorCode.none, 0)
