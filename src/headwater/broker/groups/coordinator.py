"""The group coordinator: requests and deadlines go in, answers and durable records come out.

Invariant: a SyncGroup that completes a generation is answered after its record is durable; so is
an OffsetCommit (offsets.py). One event loop calls everything here; no thread shares any of it.
"""

import asyncio
import uuid
from collections.abc import Iterator, Sequence
from typing import TypeVar

from headwater.broker.deadlines import Deadlines, Now, run_deadlines
from headwater.broker.groups import joining, leaving, syncing
from headwater.broker.groups.group import Group, GroupState, Stored
from headwater.broker.groups.journal import Entry, Journal, Ledger, code_after
from headwater.broker.groups.member import Client
from headwater.broker.groups.offsets import Offsets
from headwater.broker.groups.records import (
    GroupMetadataValue,
    GroupRecord,
    OffsetRecord,
    decode_record,
    encode_group,
)
from headwater.broker.groups.registry import Registry
from headwater.broker.groups.settings import GroupSettings
from headwater.clock import Clock
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.heartbeat import HeartbeatRequest
from headwater.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from headwater.wire.messages.leave_group import MemberIdentity, MemberResponse
from headwater.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from headwater.wire.record_batch import NO_PRODUCER

T = TypeVar("T")
_DEFAULT_SETTINGS = GroupSettings()


class Groups:
    """All groups of the broker, and their offsets.

    Life: `replay` every record of the journal, `loaded()`, `run()` beside the server, `close()`.
    """

    def __init__(
        self, clock: Clock, journal: Journal, settings: GroupSettings = _DEFAULT_SETTINGS
    ) -> None:
        self.settings = settings
        self.clock = clock
        self._ledger = Ledger(journal)
        self._sooner = asyncio.Event()
        self._deadlines = Deadlines(on_sooner=self._sooner.set)
        self._registry = Registry(settings, self._deadlines, self._store)
        self.offsets = Offsets(self._registry, self._ledger, self._now)
        self._is_closed = False

    def __iter__(self) -> Iterator[Group]:
        return iter(self._registry)

    def find(self, group_id: str) -> Group | None:
        return self._registry.find(group_id)

    # Life

    def replay(
        self, key: bytes, value: bytes | None, *, offset: int = -1, producer_id: int = NO_PRODUCER
    ) -> None:
        """Take in one record of the journal, in the journal's order.

        `producer_id` is given for a record in a transaction, which counts once that is committed.
        """
        record = decode_record(key, value)
        if isinstance(record, OffsetRecord):
            self.offsets.replay(record, offset, producer_id)
        elif isinstance(record, GroupRecord):
            self._registry.remove(record.group_id)
            if record.value is not None:
                self._registry.find_or_create(record.group_id).restore(record.value)

    def replay_end(self, producer_id: int, *, is_commit: bool) -> None:
        """Take in the end of a transaction, in the journal's order."""
        self.offsets.replay_end(producer_id, is_commit=is_commit)

    def loaded(self) -> None:
        """Begin to serve what was replayed: members have a full session to be heard from again."""
        self.offsets.loaded()
        for group in self:
            group.resume(self._now())

    def next_deadline_s(self) -> float | None:
        """When `tick` may have something to do next, on the monotonic clock."""
        return self._deadlines.next_s()

    def tick(self) -> None:
        """Expire what has fallen due by now."""
        self._deadlines.expire_due(self._now())

    async def run(self) -> None:
        """Expire sessions and rebalances as they fall due, until `close`."""
        await run_deadlines(self._deadlines, self._sooner, self._now, lambda: self._is_closed)

    async def close(self) -> None:
        """Answer everyone who waits with NOT_COORDINATOR, and finish what is being written."""
        self._is_closed = True
        for group in self:
            group.close(self._now(), ErrorCode.NOT_COORDINATOR)
        self._sooner.set()
        await self._ledger.flush()

    async def expire_offsets(self, now_ms: int) -> int:
        """Delete what is past its retention; to be called now and then; returns how many."""
        return await self.offsets.expire(now_ms)

    async def forget_topic(self, topic: str) -> None:
        """Delete all groups' offsets of a topic that was deleted."""
        await self.offsets.forget_topic(topic)

    # Requests of members

    async def join(self, request: JoinGroupRequest, client: Client) -> JoinGroupResponse:
        """Answer when the member is in a generation, or is told why not."""
        answer: asyncio.Future[JoinGroupResponse] = asyncio.get_running_loop().create_future()
        attempt = joining.JoinAttempt(
            request=request,
            client=client,
            fresh_id=f"{request.group_instance_id or client.id}-{uuid.uuid4()}",
            answer=lambda response: _resolve(answer, response),
        )
        refusal = self._refuse_join(request)
        if refusal:
            attempt.refuse(refusal)
        else:
            joining.join(self._registry.find_or_create(request.group_id), attempt, self._now())
        return await answer

    async def sync(self, request: SyncGroupRequest) -> SyncGroupResponse:
        """Answer when the leader's assignment is durable, or the next rebalance has begun."""
        group = self.find(request.group_id)
        if group is None:
            return SyncGroupResponse(error_code=self._refuse_unknown(request.group_id))
        answer: asyncio.Future[SyncGroupResponse] = asyncio.get_running_loop().create_future()
        syncing.sync(group, request, lambda response: _resolve(answer, response))
        return await answer

    def heartbeat(self, request: HeartbeatRequest) -> ErrorCode:
        group = self.find(request.group_id)
        if group is None:
            return self._refuse_unknown(request.group_id)
        return group.heartbeat(
            request.member_id,
            request.group_instance_id,
            request.generation_id,
            self.clock.monotonic_s(),
        )

    async def leave(
        self, group_id: str, leavers: Sequence[MemberIdentity]
    ) -> tuple[ErrorCode, list[MemberResponse]]:
        """Remove members; returns once a group that this empties is durably empty."""
        group = self.find(group_id)
        refusal = self._refuse_unknown(group_id) if group is None else ErrorCode.NONE
        if group is not None and group.state is not GroupState.DEAD:
            responses = leaving.leave(group, leavers, self._now())
            await self._ledger.flush()
            return ErrorCode.NONE, responses
        if refusal is ErrorCode.UNKNOWN_MEMBER_ID:
            return ErrorCode.NONE, [leaving.answer(each, refusal) for each in leavers]
        return refusal or ErrorCode.COORDINATOR_NOT_AVAILABLE, []

    def _refuse_join(self, request: JoinGroupRequest) -> ErrorCode:
        settings = self.settings
        shortest_ms, longest_ms = settings.min_session_timeout_ms, settings.max_session_timeout_ms
        if self._is_closed:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        if not shortest_ms <= request.session_timeout_ms <= longest_ms:
            return ErrorCode.INVALID_SESSION_TIMEOUT
        if request.member_id and self.find(request.group_id) is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE

    def _refuse_unknown(self, group_id: str) -> ErrorCode:
        if self._is_closed:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        return ErrorCode.UNKNOWN_MEMBER_ID if group_id else ErrorCode.INVALID_GROUP_ID

    def _store(self, group_id: str, value: GroupMetadataValue, stored: Stored) -> None:
        record = encode_group(group_id, value)
        self._ledger.write(Entry([record]), lambda error: stored(code_after(error), self._now()))

    def _now(self) -> Now:
        return Now(self.clock.monotonic_s(), self.clock.now_ms())


def _resolve(answer: asyncio.Future[T], response: T) -> None:
    """Answer a request, unless its connection is gone; the member stays, as in Kafka."""
    if not answer.done():
        answer.set_result(response)
