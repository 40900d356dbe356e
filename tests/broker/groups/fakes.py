"""A clock that is set by hand, a journal that can stall and fail, and a group to drive directly."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from headwater.broker.deadlines import Deadlines, Now
from headwater.broker.groups import joining, leaving, syncing
from headwater.broker.groups.group import Group, Stored
from headwater.broker.groups.journal import Entry
from headwater.broker.groups.member import Client
from headwater.broker.groups.records import GroupMetadataValue, Record
from headwater.broker.groups.settings import GroupSettings
from headwater.errors import StorageFailed
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from headwater.wire.messages.leave_group import MemberIdentity
from headwater.wire.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

EPOCH_MS = 1_700_000_000_000
Protocols = Mapping[str, bytes]
RANGE: Protocols = {"range": b"subscription"}


class HandClock:
    """Both clocks move together, when told to."""

    def __init__(self) -> None:
        self.s = 1000.0

    def monotonic_s(self) -> float:
        return self.s

    def now_ms(self) -> int:
        return EPOCH_MS + round(self.s * 1000)

    def advance(self, seconds: float) -> None:
        self.s += seconds


class MemoryJournal:
    """Keeps records in memory; what is appended while it is held waits for the release."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.entries: list[Entry] = []
        self.appends = 0
        self.is_failing = False
        self._open = asyncio.Event()
        self._open.set()

    async def append(self, entries: Sequence[Entry]) -> None:
        self.appends += 1
        await self._open.wait()
        if self.is_failing:
            raise StorageFailed("the disk is gone")
        for entry in entries:
            entry.base_offset = len(self.records)
            self.records.extend(entry.records)
        self.entries.extend(entries)

    def hold(self) -> None:
        self._open.clear()

    def release(self) -> None:
        self._open.set()


class Answer:
    """What a request was answered with, if it was; being answered twice is an error."""

    def __init__(self) -> None:
        self.response: Any = None

    def __call__(self, response: JoinGroupResponse | SyncGroupResponse) -> None:
        assert self.response is None, "answered twice"
        self.response = response

    @property
    def is_waiting(self) -> bool:
        return self.response is None

    @property
    def error(self) -> ErrorCode | None:
        return None if self.response is None else ErrorCode(self.response.error_code)


def join_request(
    group_id: str = "g",
    member_id: str = "",
    *,
    protocols: Protocols = RANGE,
    instance_id: str | None = None,
    session_s: float = 10,
    rebalance_s: float = 60,
    protocol_type: str = "consumer",
) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group_id,
        member_id=member_id,
        group_instance_id=instance_id,
        session_timeout_ms=round(session_s * 1000),
        rebalance_timeout_ms=round(rebalance_s * 1000),
        protocol_type=protocol_type,
        protocols=[
            JoinGroupRequestProtocol(name=name, metadata=metadata)
            for name, metadata in protocols.items()
        ],
    )


def sync_request(
    generation: int,
    member_id: str,
    assignments: Mapping[str, bytes] | None = None,
    *,
    group_id: str = "g",
    instance_id: str | None = None,
    **fields: Any,
) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id=group_id,
        generation_id=generation,
        member_id=member_id,
        group_instance_id=instance_id,
        assignments=[
            SyncGroupRequestAssignment(member_id=name, assignment=assignment)
            for name, assignment in (assignments or {}).items()
        ],
        **fields,
    )


class GroupRig:
    """One group without a coordinator: time and durability are in the test's hands."""

    def __init__(self, *, is_durable_at_once: bool = True, **settings: Any) -> None:
        self.now = Now(1000.0, EPOCH_MS)
        self.deadlines = Deadlines()
        self.is_durable_at_once = is_durable_at_once
        self.stored: list[GroupMetadataValue] = []
        self.to_store: list[tuple[GroupMetadataValue, Stored]] = []
        self.group = Group("g", GroupSettings(**settings), self.deadlines, self._store)
        self._ids = 0

    def _store(self, group_id: str, value: GroupMetadataValue, stored: Stored) -> None:
        assert group_id == "g"
        self.to_store.append((value, stored))
        if self.is_durable_at_once:
            self.settle()

    def settle(self, error: ErrorCode = ErrorCode.NONE) -> None:
        """Let the oldest write come to its end."""
        value, stored = self.to_store.pop(0)
        if not error:
            self.stored.append(value)
        stored(error, self.now)

    def advance(self, seconds: float) -> None:
        """Move time on, stopping at every deadline on the way."""
        until = self.now.s + seconds
        while (due := self.deadlines.next_s()) is not None and due <= until:
            self._set(max(due, self.now.s))
            self.deadlines.expire_due(self.now)
        self._set(until)

    def _set(self, monotonic_s: float) -> None:
        self.now = Now(monotonic_s, EPOCH_MS + round((monotonic_s - 1000) * 1000))

    def join(self, member_id: str = "", *, version: int = 3, **fields: Any) -> Answer:
        """Join; by default in a version that needs no second request."""
        self._ids += 1
        answer = Answer()
        attempt = joining.JoinAttempt(
            request=join_request(member_id=member_id, **fields),
            client=Client("client", "/127.0.0.1", version),
            fresh_id=f"m{self._ids}",
            answer=answer,
        )
        joining.join(self.group, attempt, self.now)
        return answer

    def sync(
        self, member_id: str, assignments: Mapping[str, bytes] | None = None, **fields: Any
    ) -> Answer:
        answer = Answer()
        fields.setdefault("generation", self.group.generation)
        request = sync_request(member_id=member_id, assignments=assignments, **fields)
        syncing.sync(self.group, request, answer)
        return answer

    def heartbeat(
        self, member_id: str, generation: int | None = None, instance_id: str | None = None
    ) -> ErrorCode:
        generation = self.group.generation if generation is None else generation
        return self.group.heartbeat(member_id, instance_id, generation, self.now.s)

    def leave(self, *leavers: str | MemberIdentity) -> list[ErrorCode]:
        identities = [
            each if isinstance(each, MemberIdentity) else MemberIdentity(member_id=each)
            for each in leavers
        ]
        return [
            ErrorCode(each.error_code) for each in leaving.leave(self.group, identities, self.now)
        ]

    def stable(self, count: int, **fields: Any) -> list[str]:
        """Make a stable group of so many members; the first leads, each is assigned its id."""
        for _ in range(count):
            self.join(**fields)
            for member in self.group.roster:
                self.join(member.id, instance_id=member.instance_id, **fields)
        ids = [member.id for member in self.group.roster]
        self.sync_all(ids)
        return ids

    def sync_all(self, ids: Sequence[str]) -> dict[str, Answer]:
        assignments = {each: each.encode() for each in ids}
        leader = self.group.roster.leader_id
        return {
            each: self.sync(
                each,
                assignments if each == leader else None,
                instance_id=self.group.roster[each].instance_id,
            )
            for each in ids
        }
