"""The records of `__consumer_offsets`: Kafka's bytes, read back unchanged."""

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.broker.groups.records import (
    CommittedOffset,
    GroupMetadataValue,
    GroupRecord,
    MemberMetadata,
    OffsetCommitValue,
    OffsetRecord,
    TopicPartition,
    decode_record,
    encode_group,
    encode_offset,
)
from headwater.errors import Corruption
from headwater.wire.codec import encode_bytes

int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
text = st.text(max_size=30)
offsets = st.builds(
    CommittedOffset,
    offset=int64,
    leader_epoch=int32,
    metadata=text,
    committed_at_ms=int64,
    expires_at_ms=st.none(),
)
members = st.builds(
    MemberMetadata,
    member_id=text,
    group_instance_id=st.none() | text,
    client_id=text,
    client_host=text,
    rebalance_timeout=int32,
    session_timeout=int32,
    subscription=st.binary(max_size=30),
    assignment=st.binary(max_size=30),
)
groups = st.builds(
    GroupMetadataValue,
    protocol_type=text,
    generation=int32,
    protocol=st.none() | text,
    leader=st.none() | text,
    current_state_timestamp=int64,
    members=st.lists(members, max_size=3),
)


@given(text, text, int32, offsets)
def test_offset_comes_back(group: str, topic: str, partition: int, committed: CommittedOffset):
    where = TopicPartition(topic, partition)

    record = decode_record(*encode_offset(group, where, committed))

    assert record == OffsetRecord(group, where, committed)


@given(text, groups)
def test_group_comes_back(group: str, value: GroupMetadataValue):
    assert decode_record(*encode_group(group, value)) == GroupRecord(group, value)


def test_offset_with_its_own_expiry_comes_back_without_leader_epoch():
    where = TopicPartition("t", 0)
    committed = CommittedOffset(5, leader_epoch=3, committed_at_ms=10, expires_at_ms=20)

    record = decode_record(*encode_offset("g", where, committed))

    assert record == OffsetRecord("g", where, CommittedOffset(5, -1, "", 10, 20))


def test_deletions_come_back():
    assert decode_record(*encode_group("g", None)) == GroupRecord("g", None)
    where = TopicPartition("t", 7)
    assert decode_record(*encode_offset("g", where, None)) == OffsetRecord("g", where, None)


def test_offset_is_written_as_kafka_writes_it():
    committed = CommittedOffset(42, leader_epoch=1, metadata="m", committed_at_ms=258)

    key, value = encode_offset("group", TopicPartition("topic", 3), committed)

    assert key == bytes.fromhex("0001 0005 67726f7570 0005 746f706963 00000003")
    assert value == bytes.fromhex("0003 000000000000002a 00000001 0001 6d 0000000000000102")


def test_group_is_written_as_kafka_writes_it():
    member = MemberMetadata(
        member_id="m",
        client_id="c",
        client_host="/h",
        rebalance_timeout=2,
        session_timeout=1,
        subscription=b"s",
        assignment=b"a",
    )
    key, value = encode_group(
        "g",
        GroupMetadataValue(
            protocol_type="consumer",
            generation=7,
            protocol="range",
            leader="m",
            current_state_timestamp=9,
            members=[member],
        ),
    )

    assert key == bytes.fromhex("0002 0001 67")
    assert value == bytes.fromhex(
        "0003 0008 636f6e73756d6572 00000007 0005 72616e6765 0001 6d 0000000000000009 00000001"
        "0001 6d ffff 0001 63 0002 2f68 00000002 00000001 00000001 73 00000001 61"
    )


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_every_version_of_an_offset_is_read(version: int):
    key, _ = encode_offset("g", TopicPartition("t", 0), None)
    value = OffsetCommitValue(offset=5, metadata="m", commit_timestamp=6)
    data = struct.pack(">h", version) + encode_bytes(value, version)

    record = decode_record(key, data)

    assert record == OffsetRecord("g", TopicPartition("t", 0), CommittedOffset(5, -1, "m", 6))


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_every_version_of_a_group_is_read(version: int):
    key, _ = encode_group("g", None)
    value = GroupMetadataValue(
        protocol_type="consumer", generation=3, members=[MemberMetadata(member_id="m")]
    )
    data = struct.pack(">h", version) + encode_bytes(value, version)

    assert decode_record(key, data) == GroupRecord("g", value)


def test_records_of_another_coordinator_are_passed_over():
    assert decode_record(struct.pack(">h", 3) + b"\0\x01g", b"anything") is None


@given(st.binary(max_size=40), st.none() | st.binary(max_size=40))
def test_damage_is_reported_as_damage_and_nothing_else(key: bytes, value: bytes | None):
    with contextlib.suppress(Corruption):
        decode_record(key, value)


def test_unknown_version_of_a_value_is_damage():
    key, _ = encode_group("g", None)

    with pytest.raises(Corruption, match="version 9"):
        decode_record(key, struct.pack(">h", 9) + b"\0" * 20)
