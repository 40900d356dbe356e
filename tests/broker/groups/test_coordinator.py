"""The coordinator: whom it refuses before any group is asked, time, cancelled requests, the end."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from broker.groups.fakes import HandClock, MemoryJournal, join_request, sync_request
from headwater.broker.groups.coordinator import Groups
from headwater.broker.groups.group import GroupState
from headwater.broker.groups.member import Client
from headwater.broker.groups.records import Record
from headwater.broker.groups.settings import GroupSettings
from headwater.clock import SystemClock
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.heartbeat import HeartbeatRequest
from headwater.wire.messages.join_group import JoinGroupResponse
from headwater.wire.messages.leave_group import MemberIdentity

OLD_CLIENT = Client("app", "/127.0.0.1", 3)
CLIENT = Client("app", "/127.0.0.1", 9)


class Rig:
    def __init__(self, **settings: int) -> None:
        self.clock = HandClock()
        self.journal = MemoryJournal()
        self.groups = Groups(self.clock, self.journal, GroupSettings(**settings))

    def join(self, member_id: str = "", **fields: object) -> "asyncio.Task[JoinGroupResponse]":
        request = join_request("g", member_id, **fields)
        return asyncio.create_task(self.groups.join(request, OLD_CLIENT))

    async def stable(self) -> str:
        joined = await self.join()
        request = sync_request(joined.generation_id, joined.member_id, {joined.member_id: b"1"})
        assert (await self.groups.sync(request)).error_code == ErrorCode.NONE
        return joined.member_id

    def heartbeat(self, member_id: str, group_id: str = "g", generation: int = 1) -> ErrorCode:
        return self.groups.heartbeat(
            HeartbeatRequest(group_id=group_id, member_id=member_id, generation_id=generation)
        )


def scenario(test: Callable[[Rig], Awaitable[None]]) -> Callable[[], None]:
    """Run an async test on a fresh rig; it takes no fixtures."""

    def run() -> None:
        async def body() -> None:
            await test(Rig())

        asyncio.run(body())

    run.__name__ = test.__name__
    return run


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@scenario
async def test_member_id_is_made_of_the_client_id(rig: Rig):
    response = await rig.groups.join(join_request(), CLIENT)

    assert response.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert response.member_id.startswith("app-")
    assert len(response.member_id) == len("app-") + 36


@scenario
async def test_member_id_of_a_static_member_is_made_of_its_instance_id(rig: Rig):
    response = await rig.groups.join(join_request(instance_id="one"), CLIENT)

    assert response.member_id.startswith("one-")


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"session_s": 5.999}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_s": 1800.001}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_join_is_refused_before_a_group_is_made(fields: dict[str, object], error: ErrorCode):
    async def run() -> None:
        rig = Rig()
        response = await rig.groups.join(join_request(**fields), CLIENT)
        assert response.error_code == error
        assert response.member_id == fields.get("member_id", "")
        assert list(rig.groups) == []

    asyncio.run(run())


@scenario
async def test_members_of_unknown_groups_are_unknown(rig: Rig):
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert rig.heartbeat("m") is unknown
    assert (await rig.groups.sync(sync_request(1, "m"))).error_code == unknown
    error, (member,) = await rig.groups.leave("g", [MemberIdentity(member_id="m")])
    assert (error, member.error_code) == (ErrorCode.NONE, unknown)


@scenario
async def test_empty_group_id_is_invalid(rig: Rig):
    invalid = ErrorCode.INVALID_GROUP_ID
    assert rig.heartbeat("m", group_id="") is invalid
    assert (await rig.groups.sync(sync_request(1, "m", group_id=""))).error_code == invalid
    assert await rig.groups.leave("", [MemberIdentity(member_id="m")]) == (invalid, [])


@scenario
async def test_sync_is_answered_when_the_assignment_is_durable(rig: Rig):
    joined = await rig.join()
    rig.journal.hold()
    request = sync_request(1, joined.member_id, {joined.member_id: b"mine"})
    syncing = asyncio.create_task(rig.groups.sync(request))
    await settle()
    assert not syncing.done()

    rig.journal.release()

    assert (await syncing).assignment == b"mine"


@scenario
async def test_sync_fails_if_the_assignment_is_not_durable(rig: Rig):
    joined = await rig.join()
    rig.journal.is_failing = True

    response = await rig.groups.sync(sync_request(1, joined.member_id, {}))

    assert response.error_code == ErrorCode.NOT_COORDINATOR


@scenario
async def test_leave_is_answered_when_the_empty_group_is_durable(rig: Rig):
    member = await rig.stable()
    rig.journal.hold()
    leaving = asyncio.create_task(rig.groups.leave("g", [MemberIdentity(member_id=member)]))
    await settle()
    assert not leaving.done()

    rig.journal.release()

    error, (left,) = await leaving
    assert (error, left.error_code) == (ErrorCode.NONE, ErrorCode.NONE)


@scenario
async def test_sessions_end_by_the_clock(rig: Rig):
    member = await rig.stable()
    assert rig.groups.next_deadline_s() == rig.clock.s + 10
    rig.clock.advance(9.9)
    rig.groups.tick()
    assert rig.heartbeat(member) is ErrorCode.NONE
    rig.clock.advance(9.9)
    rig.groups.tick()
    assert rig.heartbeat(member) is ErrorCode.NONE

    rig.clock.advance(10)
    rig.groups.tick()

    assert rig.heartbeat(member) is ErrorCode.UNKNOWN_MEMBER_ID
    await rig.groups.close()


@scenario
async def test_member_whose_connection_is_gone_keeps_its_place(rig: Rig):
    first = await rig.stable()
    waiting = rig.join()
    await settle()
    waiting.cancel()
    await settle()

    rejoined = await rig.join(first)

    assert rejoined.generation_id == 2
    assert len(rejoined.members) == 2


@scenario
async def test_closing_answers_everyone_who_waits(rig: Rig):
    await rig.stable()
    waiting = rig.join()
    await settle()

    await rig.groups.close()

    assert (await waiting).error_code == ErrorCode.NOT_COORDINATOR
    refused = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (await rig.join()).error_code == refused
    assert rig.heartbeat("m") is rig.heartbeat("m", group_id="other") is refused
    assert (await rig.groups.leave("g", []))[0] is refused
    assert (await rig.groups.leave("other", []))[0] is refused


@scenario
async def test_closing_finishes_what_is_being_written(rig: Rig):
    joined = await rig.join()
    syncing = asyncio.create_task(rig.groups.sync(sync_request(1, joined.member_id, {})))
    await asyncio.sleep(0)

    await rig.groups.close()

    assert len(rig.journal.records) == 1
    assert (await syncing).error_code == ErrorCode.NOT_COORDINATOR


def test_run_expires_sessions_and_ends_with_close():
    class EmptyingJournal(MemoryJournal):
        """Tells when the second record is there: the group without members."""

        async def append(self, records: Sequence[Record]) -> None:
            await super().append(records)
            if len(self.records) == 2:
                emptied.set()

    emptied = asyncio.Event()

    async def run() -> None:
        groups = Groups(SystemClock(), EmptyingJournal(), GroupSettings(min_session_timeout_ms=1))
        running = asyncio.create_task(groups.run())
        joined = await groups.join(join_request(session_s=0.02), OLD_CLIENT)
        await groups.sync(sync_request(1, joined.member_id, {}))
        await asyncio.wait_for(emptied.wait(), 5)
        assert [group.state for group in groups] == [GroupState.EMPTY]
        await groups.close()
        await running

    asyncio.run(run())
