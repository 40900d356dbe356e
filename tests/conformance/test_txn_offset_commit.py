"""TxnOffsetCommit: a group's offsets count when the transaction is committed, and not before."""

from collections.abc import Callable
from typing import Any

import pytest

from conformance.calls import eventually
from conformance.members import Member
from conformance.raw import Connection, ErrorCode
from conformance.transactional import NEW, OLD, Transactional

NewProducer = Callable[..., Transactional]
NONE = ErrorCode.none


def fetch_offset(
    connection: Connection, group: str, topic: str, *, stable: bool = False, version: int = 7
) -> Any:
    """The committed offset of partition 0, as a consumer asks for it."""
    topics = [{"name": topic, "partition_indexes": [0]}]
    if version >= 8:
        asked = [{"group_id": group, "topics": topics}]
        response = connection.request("offset_fetch", version, groups=asked, require_stable=stable)
        return response.groups[0].topics[0].partitions[0]
    response = connection.request(
        "offset_fetch", version, group_id=group, topics=topics, require_stable=stable
    )
    return response.topics[0].partitions[0]


def offset(connection: Connection, group: str, topic: str) -> int:
    return fetch_offset(connection, group, topic).committed_offset


def plain_commit(connection: Connection, group: str, topic: str, offset: int) -> None:
    committed = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
    response = connection.request(
        "offset_commit",
        8,
        group_id=group,
        generation_id_or_member_epoch=-1,
        topics=[{"name": topic, "partitions": [committed]}],
    )
    assert response.topics[0].partitions[0].error_code == NONE


def test_offset_counts_when_the_transaction_is_committed(
    connection: Connection, group: str, topic: str, transactional: NewProducer
):
    producer = transactional()
    producer.send_offset(group, topic, 5)
    assert offset(connection, group, topic) == -1

    producer.commit()

    assert offset(connection, group, topic) == 5


def test_offset_of_an_aborted_transaction_never_counts(
    connection: Connection, group: str, topic: str, transactional: NewProducer
):
    plain_commit(connection, group, topic, 3)
    producer = transactional()
    producer.send_offset(group, topic, 5)
    producer.abort()

    assert offset(connection, group, topic) == 3
    assert fetch_offset(connection, group, topic, stable=True).error_code == NONE


@pytest.mark.parametrize("version", [7, 8, 9])
def test_offset_that_may_change_is_not_stable(
    connection: Connection, group: str, topic: str, transactional: NewProducer, version: int
):
    plain_commit(connection, group, topic, 3)
    producer = transactional()
    producer.send_offset(group, topic, 5)

    unstable = fetch_offset(connection, group, topic, stable=True, version=version)
    assert unstable.error_code == ErrorCode.unstable_offset_commit
    assert unstable.committed_offset == -1
    assert fetch_offset(connection, group, topic, version=version).committed_offset == 3

    producer.commit()
    stable = fetch_offset(connection, group, topic, stable=True, version=version)
    assert (stable.error_code, stable.committed_offset) == (NONE, 5)


def test_records_and_offsets_are_one_transaction(
    connection: Connection,
    group: str,
    topic: str,
    new_topic: Callable[[], str],
    transactional: NewProducer,
):
    output = new_topic()
    producer = transactional()
    producer.send(output, b"result")
    producer.send_offset(group, topic, 1)
    producer.abort()
    producer.send(output, b"result")
    producer.send_offset(group, topic, 2)
    producer.commit()

    assert offset(connection, group, topic) == 2


def test_last_offset_of_a_transaction_counts(
    connection: Connection, group: str, topic: str, transactional: NewProducer
):
    producer = transactional()
    for number in (5, 9, 7):
        producer.send_offset(group, topic, number)
    producer.commit()

    assert offset(connection, group, topic) == 7


def test_commit_that_was_written_later_counts_whichever_ends_last(
    connection: Connection, group: str, topic: str, transactional: NewProducer
):
    producer = transactional()
    producer.send_offset(group, topic, 5)
    plain_commit(connection, group, topic, 8)
    producer.commit()

    assert offset(connection, group, topic) == 8


def test_deleted_offset_is_not_brought_back_by_a_commit(
    connection: Connection, group: str, topic: str, transactional: NewProducer
):
    producer = transactional()
    producer.send_offset(group, topic, 5)
    response = connection.request(
        "offset_delete",
        0,
        group_id=group,
        topics=[{"name": topic, "partitions": [{"partition_index": 0}]}],
    )
    assert response.error_code == NONE
    producer.commit()

    assert offset(connection, group, topic) == -1


def test_group_must_be_part_of_the_transaction(
    connection: Connection, group: str, topic: str, name: str
):
    producer = Transactional(connection, name, OLD).start()

    for version, error in (
        (0, ErrorCode.invalid_txn_state),
        (3, ErrorCode.invalid_txn_state),
        (4, ErrorCode.transaction_abortable),
    ):
        assert producer.commit_offset(group, topic, 5, version=version) == error
    assert offset(connection, group, topic) == -1


@pytest.mark.parametrize("version", range(5))
def test_every_old_version_commits(
    connection: Connection, group: str, topic: str, name: str, version: int
):
    producer = Transactional(connection, name, OLD).start()
    assert producer.add_offsets(group) == NONE

    assert producer.commit_offset(group, topic, 5, version=version) == NONE

    producer.commit()
    assert offset(connection, group, topic) == 5


@pytest.mark.parametrize("dialect", [OLD, NEW], ids=["old", "new"])
def test_strangers_commit_nothing(
    connection: Connection, group: str, topic: str, name: str, dialect: Any
):
    producer = Transactional(connection, name, dialect).start()
    producer.start()
    if dialect is OLD:
        producer.add_offsets(group)
    me = producer.producer_id, producer.epoch

    def ask(**fields: Any) -> ErrorCode:
        return producer.commit_offset(group, topic, 5, **fields)

    assert ask(producer_epoch=me[1] - 1) == ErrorCode.invalid_producer_epoch
    assert ask(producer_epoch=me[1] + 1) == ErrorCode.invalid_producer_epoch
    assert ask(producer_id=me[0] + 1) == ErrorCode.invalid_producer_id_mapping
    producer.transactional_id = "nobody"
    assert ask() == ErrorCode.invalid_producer_id_mapping


def test_member_commits_in_its_generation(
    connection: Connection, group: str, topic: str, transactional: NewProducer
):
    member = Member(connection, group, session_timeout_ms=60_000)
    member.enter_alone(b"assigned")
    producer = transactional()
    producer.send_offset(group, topic, 1)  # Without a name: old clients do not tell theirs.

    def ask(generation: int, member_id: str) -> ErrorCode:
        return producer.commit_offset(
            group, topic, 5, generation_id=generation, member_id=member_id
        )

    assert ask(member.generation, member.member_id) == NONE
    assert ask(member.generation + 1, member.member_id) == ErrorCode.illegal_generation
    assert ask(member.generation, "somebody") == ErrorCode.unknown_member_id
    assert ask(-1, "somebody") == ErrorCode.unknown_member_id

    producer.commit()
    assert offset(connection, group, topic) == 5


def test_member_of_a_group_that_does_not_exist_is_refused(
    group: str, topic: str, transactional: NewProducer
):
    producer = transactional()
    if not producer.dialect.bumps_epochs:
        producer.add_offsets(group)

    code = producer.commit_offset(group, topic, 5, generation_id=1, member_id="somebody")

    assert code == ErrorCode.illegal_generation


def test_partition_that_does_not_exist_is_refused(
    group: str, topic: str, transactional: NewProducer
):
    producer = transactional()
    producer.send_offset(group, topic, 1)

    assert producer.commit_offset(group, topic, 5, 9) == ErrorCode.unknown_topic_or_partition
    code = producer.commit_offset(group, "no-such-topic", 5)
    assert code == ErrorCode.unknown_topic_or_partition


def test_metadata_that_is_too_long_is_refused(group: str, topic: str, transactional: NewProducer):
    producer = transactional()
    producer.send_offset(group, topic, 1)

    code = producer.commit_offset(group, topic, 5, metadata="x" * 5000)

    assert code == ErrorCode.offset_metadata_too_large


def test_group_needs_a_name(group: str, topic: str, transactional: NewProducer):
    producer = transactional()
    producer.send_offset(group, topic, 1)

    assert producer.commit_offset("", topic, 5) == ErrorCode.invalid_group_id


def test_two_groups_in_one_transaction(
    connection: Connection, group: str, topic: str, transactional: NewProducer
):
    producer = transactional()
    producer.send_offset(group, topic, 1)
    producer.send_offset(f"{group}-2", topic, 2)
    producer.commit()

    assert eventually(lambda: offset(connection, group, topic) == 1)
    assert eventually(lambda: offset(connection, f"{group}-2", topic) == 2)
