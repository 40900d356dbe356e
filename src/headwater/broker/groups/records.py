"""Groups and offsets as records of `__consumer_offsets`, byte for byte as Kafka writes them.

    key   := version:int16 body        version 0, 1: an offset; version 2: a group; others: not ours
    value := version:int16 body        null deletes

Offsets are written as value version 3 (version 1 when the client set its own expiry), groups as 3;
every version up to 4 is read. The bodies are messages in Kafka's own schema.
"""

import dataclasses
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

from headwater.errors import Corruption, InvalidRequest
from headwater.wire.codec import decode, encode_bytes
from headwater.wire.schema import ZERO_UUID, Message, Struct, field

Record: TypeAlias = tuple[bytes, bytes | None]
M = TypeVar("M", bound=Message)

_VERSION = struct.Struct(">h")
_OFFSET_KEY_VERSIONS = (0, 1)
_GROUP_KEY_VERSION = 2
_WRITTEN_VERSION = 3
_VERSION_WITH_EXPIRY = 1


class OffsetCommitKey(Message, api_key=1, versions=(0, 1)):
    group: str = field("string", default="")
    topic: str = field("string", default="")
    partition: int = field("int32", default=0)


class OffsetCommitValue(Message, api_key=1, versions=(0, 4), flexible_since=4):
    offset: int = field("int64", default=0)
    leader_epoch: int = field("int32", default=-1, since=3)
    metadata: str = field("string", default="")
    commit_timestamp: int = field("int64", default=0)
    expire_timestamp: int = field("int64", default=-1, since=1, until=1)
    topic_id: bytes = field("uuid", default=ZERO_UUID, since=4, tag=0)


class GroupMetadataKey(Message, api_key=2, versions=(2, 2)):
    group: str = field("string", default="")


class MemberMetadata(Struct):
    member_id: str = field("string", default="")
    group_instance_id: str | None = field("string", default=None, since=3, nullable=3)
    client_id: str = field("string", default="")
    client_host: str = field("string", default="")
    rebalance_timeout: int = field("int32", default=-1, since=1)
    session_timeout: int = field("int32", default=0)
    subscription: bytes = field("bytes", default=b"")
    assignment: bytes = field("bytes", default=b"")


class GroupMetadataValue(Message, api_key=2, versions=(0, 4), flexible_since=4):
    protocol_type: str = field("string", default="")
    generation: int = field("int32", default=0)
    protocol: str | None = field("string", default=None, nullable=0)
    leader: str | None = field("string", default=None, nullable=0)
    current_state_timestamp: int = field("int64", default=-1, since=2)
    members: Sequence[MemberMetadata] = field([MemberMetadata], default=())


class TopicPartition(NamedTuple):
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """What a group wrote down about one partition."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    committed_at_ms: int = -1
    expires_at_ms: int | None = None
    """Set by old clients that choose their own retention (OffsetCommit v2 to v4)."""
    log_offset: int = dataclasses.field(default=-1, compare=False)
    """Where its record stands: of two commits the later one counts, whichever transaction ends last."""


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """A group as of one generation; no value: the group was deleted."""

    group_id: str
    value: GroupMetadataValue | None


@dataclass(frozen=True, slots=True)
class OffsetRecord:
    """One committed offset; no value: it was deleted or has expired."""

    group_id: str
    partition: TopicPartition
    value: CommittedOffset | None


def encode_group(group_id: str, value: GroupMetadataValue | None) -> Record:
    key = _VERSION.pack(_GROUP_KEY_VERSION) + encode_bytes(
        GroupMetadataKey(group=group_id), _GROUP_KEY_VERSION
    )
    if value is None:
        return key, None
    return key, _VERSION.pack(_WRITTEN_VERSION) + encode_bytes(value, _WRITTEN_VERSION)


def encode_offset(
    group_id: str, partition: TopicPartition, committed: CommittedOffset | None
) -> Record:
    key_version = _OFFSET_KEY_VERSIONS[-1]
    named = OffsetCommitKey(group=group_id, topic=partition.topic, partition=partition.partition)
    key = _VERSION.pack(key_version) + encode_bytes(named, key_version)
    if committed is None:
        return key, None
    expires_at_ms = committed.expires_at_ms
    version = _WRITTEN_VERSION if expires_at_ms is None else _VERSION_WITH_EXPIRY
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.committed_at_ms,
        expire_timestamp=-1 if expires_at_ms is None else expires_at_ms,
    )
    return key, _VERSION.pack(version) + encode_bytes(value, version)


def decode_record(key: bytes, value: bytes | None) -> GroupRecord | OffsetRecord | None:
    """Read one record; None for a kind that belongs to another coordinator."""
    if len(key) < _VERSION.size:
        raise Corruption(f"a group record has a key of {len(key)} bytes")
    (version,) = _VERSION.unpack_from(key)
    if version in _OFFSET_KEY_VERSIONS:
        named = _body(OffsetCommitKey, version, key)
        committed = None if value is None else _committed_offset(_value(OffsetCommitValue, value))
        partition = TopicPartition(named.topic, named.partition)
        return OffsetRecord(named.group, partition, committed)
    if version == _GROUP_KEY_VERSION:
        group_id = _body(GroupMetadataKey, version, key).group
        return GroupRecord(group_id, None if value is None else _value(GroupMetadataValue, value))
    return None


def _committed_offset(value: OffsetCommitValue) -> CommittedOffset:
    return CommittedOffset(
        offset=value.offset,
        leader_epoch=value.leader_epoch,
        metadata=value.metadata,
        committed_at_ms=value.commit_timestamp,
        expires_at_ms=None if value.expire_timestamp < 0 else value.expire_timestamp,
    )


def _value(message: type[M], data: bytes) -> M:
    if len(data) < _VERSION.size:
        raise Corruption(f"a {message.__name__} has {len(data)} bytes")
    (version,) = _VERSION.unpack_from(data)
    if version not in message.versions:
        raise Corruption(f"a {message.__name__} has version {version}")
    return _body(message, version, data)


def _body(message: type[M], version: int, data: bytes) -> M:
    try:
        return decode(message, version, memoryview(data), _VERSION.size)
    except InvalidRequest as error:
        raise Corruption(error.what) from error
