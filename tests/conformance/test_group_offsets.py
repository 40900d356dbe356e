"""OffsetCommit and OffsetFetch: what a group has read, kept for it and for whoever asks."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from conformance.calls import eventually, topic_id
from conformance.conftest import NewTopic
from conformance.members import Member
from conformance.raw import Connection, ErrorCode, decode, encode

NewMember = Callable[..., Member]


@pytest.fixture
def new_member(connect: Any, group: str) -> NewMember:
    return lambda **fields: Member(connect(), group, **fields)


def commit(
    connection: Connection,
    group: str,
    topic: str,
    offset: int = 5,
    *,
    partition: int = 0,
    version: int = 8,
    metadata: str | None = "",
    leader_epoch: int = -1,
    **fields: Any,
) -> ErrorCode:
    committed: dict[str, Any] = {
        "partition_index": partition,
        "committed_offset": offset,
        "committed_metadata": metadata,
    }
    if version >= 6:
        committed["committed_leader_epoch"] = leader_epoch
    response = connection.request(
        "offset_commit",
        version,
        **{
            "group_id": group,
            "generation_id_or_member_epoch": -1,
            "topics": [{"name": topic, "partitions": [committed]}],
            **fields,
        },
    )
    return response.topics[0].partitions[0].error_code


def commit_as(member: Member, topic: str, offset: int = 5, **fields: Any) -> ErrorCode:
    return commit(
        member.connection,
        member.group,
        topic,
        offset,
        **{
            "generation_id_or_member_epoch": member.generation,
            "member_id": member.member_id,
            **fields,
        },
    )


def committed(
    connection: Connection, group: str, topic: str, partition: int = 0, version: int = 7
) -> Any:
    response = connection.request(
        "offset_fetch",
        version,
        group_id=group,
        topics=[{"name": topic, "partition_indexes": [partition]}],
    )
    return response.topics[0].partitions[0]


@pytest.mark.parametrize("version", range(2, 10))
def test_commits_in_every_version_by_name(
    connection: Connection, group: str, topic: str, version: int
):
    assert commit(connection, group, topic, 42, version=version) == ErrorCode.none
    assert committed(connection, group, topic).committed_offset == 42


@pytest.mark.parametrize("version", range(1, 8))
def test_fetches_one_group_in_every_version(
    connection: Connection, group: str, topic: str, version: int
):
    commit(connection, group, topic, 42, metadata="note")

    answer = committed(connection, group, topic, version=version)

    assert (answer.error_code, answer.partition_index) == (ErrorCode.none, 0)
    assert (answer.committed_offset, answer.metadata) == (42, "note")


@pytest.mark.parametrize("version", [8, 9])
def test_fetches_several_groups(connection: Connection, group: str, topic: str, version: int):
    other, unknown = f"{group}-other", f"{group}-unknown"
    commit(connection, group, topic, 1)
    commit(connection, other, topic, 2)

    response = connection.request(
        "offset_fetch",
        version,
        groups=[
            {"group_id": name, "topics": [{"name": topic, "partition_indexes": [0]}]}
            for name in (other, group, unknown)
        ],
    )

    assert {
        found.group_id: (found.error_code, found.topics[0].partitions[0].committed_offset)
        for found in response.groups
    } == {
        other: (ErrorCode.none, 2),
        group: (ErrorCode.none, 1),
        unknown: (ErrorCode.none, -1),
    }


def test_version_10_commits_and_fetches_by_topic_id(connection: Connection, group: str, topic: str):
    identity = topic_id(connection, topic)

    response = connection.request(
        "offset_commit",
        10,
        group_id=group,
        generation_id_or_member_epoch=-1,
        topics=[
            {
                "topic_id": identity,
                "partitions": [{"partition_index": 0, "committed_offset": 7}],
            }
        ],
    )
    fetched = connection.request(
        "offset_fetch",
        10,
        groups=[{"group_id": group, "topics": [{"topic_id": identity, "partition_indexes": [0]}]}],
    )

    (answered,) = response.topics
    assert answered.topic_id == identity
    assert answered.partitions[0].error_code == ErrorCode.none
    (found,) = fetched.groups[0].topics
    assert found.topic_id == identity
    assert found.partitions[0].committed_offset == 7


def test_version_10_unknown_topic_id(connection: Connection, group: str):
    unknown = uuid4()

    response = connection.request(
        "offset_commit",
        10,
        group_id=group,
        generation_id_or_member_epoch=-1,
        topics=[
            {"topic_id": unknown, "partitions": [{"partition_index": 0, "committed_offset": 7}]}
        ],
    )
    fetched = connection.request(
        "offset_fetch",
        10,
        groups=[{"group_id": group, "topics": [{"topic_id": unknown, "partition_indexes": [0]}]}],
    )

    assert response.topics[0].partitions[0].error_code == ErrorCode.unknown_topic_id
    assert fetched.groups[0].topics[0].partitions[0].error_code == ErrorCode.unknown_topic_id


@pytest.mark.parametrize("metadata", ["", "checkpoint 17", "ünïcödé ✓", "x" * 4096])
def test_metadata_comes_back(connection: Connection, group: str, topic: str, metadata: str):
    commit(connection, group, topic, 1, metadata=metadata)

    assert committed(connection, group, topic).metadata == metadata


def test_metadata_that_is_no_text_is_taken(connection: Connection, group: str, topic: str):
    """A client in C may keep bytes there; what is no text is replaced."""
    partition = {"partition_index": 0, "committed_offset": 5, "committed_metadata": "a??b"}
    fields = {
        "group_id": group,
        "generation_id_or_member_epoch": -1,
        "topics": [{"name": topic, "partitions": [partition]}],
    }

    connection.send_bytes(encode("offset_commit", 2, 1, fields).replace(b"??", b"\xff\xfe"))

    _, response = decode("offset_commit", 2, connection.receive_bytes())
    assert response.topics[0].partitions[0].error_code == ErrorCode.none
    assert committed(connection, group, topic).metadata == "a\ufffd\ufffdb"


def test_null_metadata_comes_back_empty(connection: Connection, group: str, topic: str):
    commit(connection, group, topic, 1, metadata=None)

    assert committed(connection, group, topic).metadata == ""


def test_metadata_that_is_too_long_is_refused(connection: Connection, group: str, topic: str):
    code = commit(connection, group, topic, 1, metadata="x" * 4097)

    assert code == ErrorCode.offset_metadata_too_large
    assert committed(connection, group, topic).committed_offset == -1


def test_leader_epoch_comes_back(connection: Connection, group: str, topic: str):
    commit(connection, group, topic, 1, leader_epoch=3)

    assert committed(connection, group, topic).committed_leader_epoch == 3


def test_leader_epoch_is_unknown_unless_committed(connection: Connection, group: str, topic: str):
    commit(connection, group, topic, 1, version=2)

    assert committed(connection, group, topic).committed_leader_epoch == -1


def test_last_commit_wins_also_when_it_goes_back(connection: Connection, group: str, topic: str):
    for offset in (1, 9, 4):
        commit(connection, group, topic, offset)

    assert committed(connection, group, topic).committed_offset == 4


def test_offset_beyond_the_log_may_be_committed(connection: Connection, group: str, topic: str):
    assert commit(connection, group, topic, 2**40) == ErrorCode.none
    assert committed(connection, group, topic).committed_offset == 2**40


def test_nothing_committed_is_minus_one_and_no_error(
    connection: Connection, group: str, new_topic: NewTopic, name: str
):
    topic = new_topic(partitions=2)
    commit(connection, group, topic, 1, partition=0)

    for answer in (
        committed(connection, group, topic, partition=1),
        committed(connection, group, topic, partition=99),
        committed(connection, group, name),
        committed(connection, f"{group}-unknown", topic),
    ):
        assert answer.error_code == ErrorCode.none
        assert (answer.committed_offset, answer.metadata) == (-1, "")
        assert answer.committed_leader_epoch == -1


def test_null_asks_for_everything_committed(
    connection: Connection, group: str, new_topic: NewTopic
):
    one, two = new_topic(), new_topic(partitions=3)
    commit(connection, group, one, 1)
    commit(connection, group, two, 2, partition=2)

    single = connection.request("offset_fetch", 7, group_id=group, topics=None)
    several = connection.request("offset_fetch", 8, groups=[{"group_id": group, "topics": None}])

    def offsets(topics: Any) -> dict[tuple[str, int], int]:
        return {
            (found.name, answer.partition_index): answer.committed_offset
            for found in topics
            for answer in found.partitions
        }

    assert offsets(single.topics) == {(one, 0): 1, (two, 2): 2}
    assert offsets(several.groups[0].topics) == {(one, 0): 1, (two, 2): 2}


def test_group_that_is_named_twice_is_answered_twice(
    connection: Connection, group: str, topic: str
):
    commit(connection, group, topic, 42)
    asked = {"group_id": group, "topics": None}

    response = connection.request("offset_fetch", 8, groups=[asked, asked])

    first, second = response.groups
    assert first == second
    assert first.topics[0].partitions[0].committed_offset == 42


def test_commit_that_is_larger_than_a_batch_commits_nothing(
    connection: Connection, group: str, new_topic: NewTopic
):
    topic, long_name = new_topic(partitions=40), group.ljust(30_000, "x")
    offsets = [{"partition_index": each, "committed_offset": 1} for each in range(40)]

    response = connection.request(
        "offset_commit",
        8,
        group_id=long_name,
        generation_id_or_member_epoch=-1,
        topics=[{"name": topic, "partitions": offsets}],
    )

    codes = {each.error_code for each in response.topics[0].partitions}
    assert codes == {ErrorCode.unknown_server_error}
    assert committed(connection, long_name, topic).committed_offset == -1


def test_everything_of_an_unknown_group_is_nothing(connection: Connection, group: str):
    response = connection.request("offset_fetch", 7, group_id=group, topics=None)

    assert (response.error_code, response.topics) == (ErrorCode.none, [])


def test_unknown_topic_and_partition_cannot_be_committed(
    connection: Connection, group: str, topic: str, name: str
):
    unknown = ErrorCode.unknown_topic_or_partition

    assert commit(connection, group, name) == unknown
    assert commit(connection, group, topic, partition=9) == unknown


def test_one_bad_partition_does_not_spoil_the_others(
    connection: Connection, group: str, topic: str, name: str
):
    response = connection.request(
        "offset_commit",
        8,
        group_id=group,
        generation_id_or_member_epoch=-1,
        topics=[
            {"name": name, "partitions": [{"partition_index": 0, "committed_offset": 1}]},
            {
                "name": topic,
                "partitions": [
                    {"partition_index": 0, "committed_offset": 2},
                    {"partition_index": 5, "committed_offset": 2},
                ],
            },
        ],
    )

    assert {
        (answered.name, answer.partition_index): answer.error_code
        for answered in response.topics
        for answer in answered.partitions
    } == {
        (name, 0): ErrorCode.unknown_topic_or_partition,
        (topic, 0): ErrorCode.none,
        (topic, 5): ErrorCode.unknown_topic_or_partition,
    }
    assert committed(connection, group, topic).committed_offset == 2


def test_member_commits_in_its_generation(new_member: NewMember, topic: str):
    member = new_member()
    member.enter_alone()

    assert commit_as(member, topic, 8) == ErrorCode.none
    assert committed(member.connection, member.group, topic).committed_offset == 8


def test_commit_of_another_generation_is_refused(new_member: NewMember, topic: str):
    member = new_member()
    member.enter_alone()

    code = commit_as(member, topic, generation_id_or_member_epoch=9)

    assert code == ErrorCode.illegal_generation


def test_commit_of_an_unknown_member_is_refused(new_member: NewMember, topic: str):
    member = new_member()
    member.enter_alone()

    assert commit_as(member, topic, member_id="nobody") == ErrorCode.unknown_member_id


def test_commit_without_membership_is_refused_while_there_are_members(
    new_member: NewMember, connection: Connection, topic: str
):
    member = new_member()
    member.enter_alone()

    assert commit(connection, member.group, topic) == ErrorCode.unknown_member_id


def test_commit_with_a_generation_to_an_unknown_group_is_refused(
    connection: Connection, group: str, topic: str
):
    code = commit(connection, group, topic, generation_id_or_member_epoch=1, member_id="nobody")

    assert code == ErrorCode.illegal_generation


def test_commit_between_join_and_sync_is_refused(new_member: NewMember, topic: str):
    member = new_member()
    member.join()

    assert commit_as(member, topic) == ErrorCode.rebalance_in_progress


def test_commit_while_the_others_join_is_accepted(new_member: NewMember, topic: str):
    first, second = new_member(), new_member()
    first.enter_alone()
    second.send_join()
    eventually(lambda: first.heartbeat() == ErrorCode.rebalance_in_progress)

    # The generation has not ended: this is the commit a consumer makes before it rejoins.
    assert commit_as(first, topic, 3) == ErrorCode.none


def test_offsets_outlive_the_members(new_member: NewMember, connection: Connection, topic: str):
    member = new_member()
    member.enter_alone()
    commit_as(member, topic, 6)
    member.leave()

    assert committed(connection, member.group, topic).committed_offset == 6


def test_offsets_of_a_deleted_topic_are_forgotten(connection: Connection, group: str, topic: str):
    commit(connection, group, topic)
    connection.request("delete_topics", 5, topic_names=[topic], timeout=10_000)

    def is_forgotten() -> bool:
        response = connection.request("offset_fetch", 7, group_id=group, topics=None)
        return response.topics == []

    eventually(is_forgotten)


@pytest.mark.usefixtures("coordinator")
def test_empty_group_id_is_accepted_for_offsets(connection: Connection, topic: str):
    assert commit(connection, "", topic, 3) == ErrorCode.none
    assert committed(connection, "", topic).committed_offset == 3


def test_stable_offsets_can_be_required(connection: Connection, group: str, topic: str):
    commit(connection, group, topic, 3)

    response = connection.request(
        "offset_fetch",
        7,
        group_id=group,
        topics=[{"name": topic, "partition_indexes": [0]}],
        require_stable=True,
    )

    assert response.topics[0].partitions[0].committed_offset == 3
