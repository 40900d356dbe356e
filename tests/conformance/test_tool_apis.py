"""APIs that consoles and admin tools ask for. A broker may leave one out; then it is not tried."""

from collections.abc import Callable
from typing import Any

import pytest

from conformance.batches import batch, now_ms
from conformance.calls import append, await_topic, new_producer_id, topic_id
from conformance.conftest import NewTopic
from conformance.raw import Connection, ErrorCode

DESCRIBE_ACLS, ELECT_LEADERS, ALTER_REASSIGNMENTS, LIST_REASSIGNMENTS = 29, 43, 45, 46
DESCRIBE_CLIENT_QUOTAS, DESCRIBE_QUORUM, DESCRIBE_PRODUCERS = 48, 55, 61
LIST_CONFIG_RESOURCES, DESCRIBE_TOPIC_PARTITIONS = 74, 75
TOPIC = 2


@pytest.fixture
def needs(connection: Connection) -> Callable[[int], None]:
    advertised = {key.api_key for key in connection.request("api_versions", 0).api_keys}

    def needs(api_key: int) -> None:
        if api_key not in advertised:
            pytest.skip(f"the broker does not have API {api_key}")

    return needs


def describe_partitions(connection: Connection, *names: str, **fields: Any) -> Any:
    return connection.request(
        "describe_topic_partitions",
        0,
        topics=[{"name": name} for name in names],
        **{"response_partition_limit": 2000, **fields},
    )


def test_topic_partitions_are_described_without_nulls(
    needs: Callable[[int], None], connection: Connection, new_topic: NewTopic
):
    needs(DESCRIBE_TOPIC_PARTITIONS)
    name = new_topic(partitions=2)

    response = describe_partitions(connection, name)

    (topic,) = response.topics
    assert (topic.error_code, topic.name) == (ErrorCode.none, name)
    assert topic.topic_id == topic_id(connection, name)
    assert response.next_cursor is None
    assert [one.partition_index for one in topic.partitions] == [0, 1]
    for partition in topic.partitions:
        assert partition.replica_nodes == partition.isr_nodes == [partition.leader_id]
        # The Java client reads these without asking whether they are there.
        assert partition.eligible_leader_replicas == []
        assert partition.last_known_elr == []
        assert partition.offline_replicas == []


def test_topic_partitions_of_an_unknown_topic(
    needs: Callable[[int], None], connection: Connection, name: str
):
    needs(DESCRIBE_TOPIC_PARTITIONS)

    (topic,) = describe_partitions(connection, name).topics

    assert (topic.error_code, topic.name) == (ErrorCode.unknown_topic_or_partition, name)


def test_topic_partitions_of_an_invalid_name(needs: Callable[[int], None], connection: Connection):
    needs(DESCRIBE_TOPIC_PARTITIONS)

    (topic,) = describe_partitions(connection, "bad name!").topics

    assert (topic.error_code, topic.name) == (ErrorCode.invalid_topic_exception, "bad name!")


def test_topic_partitions_come_with_the_operations_as_nobody_can_ask_for_them(
    needs: Callable[[int], None], connection: Connection, topic: str
):
    needs(DESCRIBE_TOPIC_PARTITIONS)
    asked = connection.request(
        "metadata", 12, topics=[{"name": topic}], include_topic_authorized_operations=True
    )

    (described,) = describe_partitions(connection, topic).topics

    assert described.topic_authorized_operations == asked.topics[0].topic_authorized_operations
    assert described.topic_authorized_operations > 0


@pytest.mark.parametrize(("is_other", "index"), [(True, 0), (False, -1)])
def test_page_that_cannot_begin_there_is_refused(
    needs: Callable[[int], None],
    connection: Connection,
    new_topic: NewTopic,
    *,
    is_other: bool,
    index: int,
):
    needs(DESCRIBE_TOPIC_PARTITIONS)
    asked, other = new_topic(), new_topic()
    cursor = {"topic_name": other if is_other else asked, "partition_index": index}

    response = describe_partitions(connection, asked, cursor=cursor)

    (topic,) = response.topics
    assert (topic.error_code, topic.name) == (ErrorCode.invalid_request, asked)
    assert (topic.partitions, response.next_cursor) == ([], None)


def test_topic_partitions_come_in_pages(
    needs: Callable[[int], None], connection: Connection, new_topic: NewTopic
):
    needs(DESCRIBE_TOPIC_PARTITIONS)
    name = new_topic(partitions=5)

    first = describe_partitions(connection, name, response_partition_limit=3)
    cursor = {
        "topic_name": first.next_cursor.topic_name,
        "partition_index": first.next_cursor.partition_index,
    }
    second = describe_partitions(connection, name, response_partition_limit=3, cursor=cursor)

    assert cursor == {"topic_name": name, "partition_index": 3}
    assert [one.partition_index for one in first.topics[0].partitions] == [0, 1, 2]
    assert [one.partition_index for one in second.topics[0].partitions] == [3, 4]
    assert second.next_cursor is None


def test_acls_are_disabled_and_not_an_end_of_the_connection(
    needs: Callable[[int], None], connection: Connection
):
    needs(DESCRIBE_ACLS)

    response = connection.request(
        "describe_acls",
        3,
        resource_type_filter=1,
        pattern_type_filter=1,
        operation=1,
        permission_type=1,
    )

    assert response.error_code == ErrorCode.security_disabled
    assert response.resources == []


def test_preferred_leader_is_the_leader_already(
    needs: Callable[[int], None], connection: Connection, topic: str
):
    needs(ELECT_LEADERS)

    response = connection.request(
        "elect_leaders",
        2,
        election_type=0,
        topic_partitions=[{"topic": topic, "partitions": [0, 7]}],
        timeout=10_000,
    )

    assert response.error_code == ErrorCode.none
    codes = {
        one.partition_id: one.error_code
        for result in response.replica_election_results
        for one in result.partition_result
    }
    assert codes == {0: ErrorCode.election_not_needed, 7: ErrorCode.unknown_topic_or_partition}


def test_leaders_of_all_partitions_can_be_elected(
    needs: Callable[[int], None], connection: Connection
):
    needs(ELECT_LEADERS)

    response = connection.request(
        "elect_leaders", 2, election_type=0, topic_partitions=None, timeout=10_000
    )

    assert response.error_code == ErrorCode.none
    codes = {
        one.error_code
        for result in response.replica_election_results
        for one in result.partition_result
    }
    assert codes <= {ErrorCode.election_not_needed}


def test_unknown_kind_of_election_is_refused(
    needs: Callable[[int], None], connection: Connection, topic: str
):
    needs(ELECT_LEADERS)

    response = connection.request(
        "elect_leaders",
        2,
        election_type=2,
        topic_partitions=[{"topic": topic, "partitions": [0]}],
        timeout=10_000,
    )

    assert response.error_code == ErrorCode.invalid_request
    (result,) = response.replica_election_results
    assert result.partition_result[0].error_code == ErrorCode.invalid_request


def test_no_partition_is_being_reassigned(
    needs: Callable[[int], None], connection: Connection, topic: str
):
    needs(LIST_REASSIGNMENTS)

    for topics in (None, [{"name": topic, "partition_indexes": [0]}]):
        response = connection.request(
            "list_partition_reassignments", 0, topics=topics, timeout=10_000
        )
        assert (response.error_code, response.topics) == (ErrorCode.none, [])


@pytest.mark.parametrize(
    ("replicas", "code"),
    [
        (None, ErrorCode.no_reassignment_in_progress),
        ([999], ErrorCode.invalid_replica_assignment),
        ([], ErrorCode.invalid_replica_assignment),
    ],
)
def test_reassignment_to_nowhere_is_refused(
    needs: Callable[[int], None],
    connection: Connection,
    topic: str,
    replicas: list[int] | None,
    code: ErrorCode,
):
    needs(ALTER_REASSIGNMENTS)

    response = connection.request(
        "alter_partition_reassignments",
        0,
        topics=[{"name": topic, "partitions": [{"partition_index": 0, "replicas": replicas}]}],
        timeout=10_000,
    )

    assert response.responses[0].partitions[0].error_code == code


def test_client_quotas_are_none_and_not_null(needs: Callable[[int], None], connection: Connection):
    needs(DESCRIBE_CLIENT_QUOTAS)

    response = connection.request("describe_client_quotas", 1, components=[], strict=False)

    assert (response.error_code, response.entries) == (ErrorCode.none, [])


def test_quorum_is_one_voter_that_leads(needs: Callable[[int], None], connection: Connection):
    needs(DESCRIBE_QUORUM)

    response = connection.request(
        "describe_quorum",
        2,
        topics=[{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}],
    )

    assert response.error_code == ErrorCode.none
    (partition,) = response.topics[0].partitions
    assert partition.error_code == ErrorCode.none
    assert [voter.replica_id for voter in partition.current_voters] == [partition.leader_id]


def test_ordinary_topics_have_no_quorum(
    needs: Callable[[int], None], connection: Connection, topic: str
):
    needs(DESCRIBE_QUORUM)

    response = connection.request(
        "describe_quorum",
        2,
        topics=[{"topic_name": topic, "partitions": [{"partition_index": 0}]}],
    )

    assert (response.error_code, response.nodes) == (ErrorCode.none, [])
    (partition,) = response.topics[0].partitions
    assert partition.error_code == ErrorCode.unknown_topic_or_partition
    assert partition.current_voters == []


def test_producers_of_a_partition(needs: Callable[[int], None], connection: Connection, topic: str):
    needs(DESCRIBE_PRODUCERS)
    producer_id = new_producer_id(connection)
    for sequence in range(3):
        append(
            connection,
            topic,
            batch(b"a", producer_id=producer_id, producer_epoch=0, base_sequence=sequence),
        )

    response = connection.request(
        "describe_producers", 0, topics=[{"name": topic, "partition_indexes": [0, 9]}]
    )

    known, unknown = sorted(response.topics[0].partitions, key=lambda one: one.partition_index)
    assert known.error_code == ErrorCode.none
    (producer,) = known.active_producers
    assert (producer.producer_id, producer.producer_epoch) == (producer_id, 0)
    assert producer.last_sequence == 2
    assert now_ms() - 60_000 < producer.last_timestamp <= now_ms()
    assert producer.current_txn_start_offset == -1
    assert unknown.error_code == ErrorCode.unknown_topic_or_partition


def test_config_resources_are_listed(
    needs: Callable[[int], None], connection: Connection, topic: str
):
    needs(LIST_CONFIG_RESOURCES)

    def listed(*kinds: int) -> set[tuple[int, str]]:
        response = connection.request("list_config_resources", 1, resource_types=kinds)
        assert response.error_code == ErrorCode.none
        return {(one.resource_type, one.resource_name) for one in response.config_resources}

    assert (TOPIC, topic) in listed(TOPIC)
    assert (TOPIC, topic) in listed()
    assert {kind for kind, _name in listed(TOPIC)} == {TOPIC}


def test_topic_id_stays_when_the_topic_grows(connection: Connection, topic: str):
    before = topic_id(connection, topic)

    connection.request(
        "create_partitions",
        3,
        topics=[{"name": topic, "count": 2, "assignments": None}],
        timeout=10_000,
    )

    await_topic(connection, topic, 2)
    assert topic_id(connection, topic) == before
