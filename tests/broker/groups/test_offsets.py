"""Committed offsets: who may commit, when they can be read, and how they go."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from broker.groups.fakes import HandClock, MemoryJournal, join_request, sync_request
from broker.groups.test_subscription import subscription
from headwater.broker.groups.committing import Committer
from headwater.broker.groups.coordinator import Groups
from headwater.broker.groups.member import Client
from headwater.broker.groups.records import CommittedOffset, TopicPartition
from headwater.broker.groups.settings import GroupSettings
from headwater.errors import StorageFailed
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.leave_group import MemberIdentity

OLD_CLIENT = Client("app", "/127.0.0.1", 3)
ONE, TWO, OTHER = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
NONE = ErrorCode.NONE
DAY_MS = 86_400_000


class Rig:
    def __init__(self) -> None:
        self.clock = HandClock()
        self.journal = MemoryJournal()
        self.groups = Groups(
            self.clock, self.journal, GroupSettings(offsets_retention_ms=7 * DAY_MS)
        )
        self.offsets = self.groups.offsets

    async def commit(
        self, *partitions: TopicPartition, offset: int = 5, **committer: object
    ) -> ErrorCode:
        new = CommittedOffset(offset, committed_at_ms=self.clock.now_ms())
        codes = await self.offsets.commit(
            Committer("g", **committer), dict.fromkeys(partitions or (ONE,), new)
        )
        (code,) = set(codes.values())
        return code

    def committed(self, partition: TopicPartition = ONE) -> int | None:
        found = self.offsets.of("g").get(partition)
        return None if found is None else found.offset

    async def member(self, *topics: str, protocol_type: str = "consumer") -> str:
        request = join_request(
            protocols={"range": subscription(*topics)}, protocol_type=protocol_type
        )
        joined = await self.groups.join(request, OLD_CLIENT)
        await self.groups.sync(sync_request(joined.generation_id, joined.member_id, {}))
        return joined.member_id

    async def leave(self, member_id: str) -> None:
        await self.groups.leave("g", [MemberIdentity(member_id=member_id)])

    async def expire_after(self, ms: int) -> int:
        self.clock.advance(ms / 1000)
        return await self.groups.expire_offsets(self.clock.now_ms())


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
async def test_offset_can_be_read_only_when_it_is_durable(rig: Rig):
    rig.journal.hold()
    committing = asyncio.create_task(rig.commit())
    await settle()
    assert rig.committed() is None
    assert not committing.done()

    rig.journal.release()

    assert await committing is NONE
    assert rig.committed() == 5


@scenario
async def test_offset_that_is_not_durable_is_not_there(rig: Rig):
    await rig.commit(offset=1)
    rig.journal.is_failing = True

    assert await rig.commit(offset=2) is ErrorCode.NOT_COORDINATOR

    assert rig.committed() == 1


@scenario
async def test_last_of_many_concurrent_commits_wins_in_memory_as_in_the_log(rig: Rig):
    await asyncio.gather(*(rig.commit(offset=each) for each in range(50)))

    assert rig.committed() == 49


@scenario
async def test_commit_of_a_cancelled_request_still_counts(rig: Rig):
    rig.journal.hold()
    committing = asyncio.create_task(rig.commit())
    await settle()
    committing.cancel()
    rig.journal.release()
    await rig.groups.close()

    assert rig.committed() == 5


@scenario
async def test_member_commits_in_its_generation_only(rig: Rig):
    member = await rig.member()

    assert await rig.commit(generation=1, member_id=member) is NONE
    illegal = await rig.commit(generation=2, member_id=member)
    assert illegal is ErrorCode.ILLEGAL_GENERATION
    unknown = await rig.commit(generation=1, member_id="nobody")
    assert unknown is ErrorCode.UNKNOWN_MEMBER_ID


@scenario
async def test_others_commit_only_while_the_group_is_empty(rig: Rig):
    assert await rig.commit(offset=1) is NONE
    member = await rig.member()
    assert await rig.commit(offset=2) is ErrorCode.UNKNOWN_MEMBER_ID
    await rig.leave(member)

    assert await rig.commit(offset=3) is NONE
    assert rig.committed() == 3


@scenario
async def test_commit_to_a_group_that_does_not_exist(rig: Rig):
    code = await rig.commit(generation=1, member_id="m")

    assert code is ErrorCode.GROUP_ID_NOT_FOUND
    assert list(rig.groups) == []


@scenario
async def test_commit_between_join_and_sync_is_refused(rig: Rig):
    joined = await rig.groups.join(join_request(), OLD_CLIENT)

    code = await rig.commit(generation=1, member_id=joined.member_id)

    assert code is ErrorCode.REBALANCE_IN_PROGRESS


@scenario
async def test_commit_while_others_join_is_accepted(rig: Rig):
    member = await rig.member()
    joining = asyncio.create_task(
        rig.groups.join(join_request(protocols={"range": b""}), OLD_CLIENT)
    )
    await settle()

    assert await rig.commit(generation=1, member_id=member) is NONE
    await rig.groups.close()
    await joining


@scenario
async def test_commit_keeps_the_session_open(rig: Rig):
    member = await rig.member()
    for _ in range(5):
        rig.clock.advance(9)
        rig.groups.tick()
        assert await rig.commit(generation=1, member_id=member) is NONE


@scenario
async def test_fenced_member_cannot_commit(rig: Rig):
    client = Client("app", "/127.0.0.1", 9)
    old = await rig.groups.join(join_request(instance_id="one"), client)
    await rig.groups.sync(sync_request(1, old.member_id, {}))
    await rig.groups.join(join_request(instance_id="one"), client)

    code = await rig.commit(generation=1, member_id=old.member_id, instance_id="one")

    assert code is ErrorCode.FENCED_INSTANCE_ID


@scenario
async def test_metadata_that_is_too_long_spoils_only_its_own_partition(rig: Rig):
    codes = await rig.offsets.commit(
        Committer("g"),
        {
            ONE: CommittedOffset(1, metadata="x" * 4096),
            TWO: CommittedOffset(1, metadata="x" * 4097),
        },
    )

    assert codes == {ONE: NONE, TWO: ErrorCode.OFFSET_METADATA_TOO_LARGE}
    assert rig.committed(ONE) == 1
    assert rig.committed(TWO) is None


@scenario
async def test_closed_coordinator_takes_no_commits(rig: Rig):
    await rig.commit()
    await rig.groups.close()

    assert await rig.commit() is ErrorCode.COORDINATOR_NOT_AVAILABLE


# Deleting


@scenario
async def test_deleted_offset_is_gone(rig: Rig):
    await rig.commit(ONE, TWO)

    assert await rig.offsets.delete("g", [ONE]) == (NONE, {ONE: NONE})

    assert rig.committed(ONE) is None
    assert rig.committed(TWO) == 5


@scenario
async def test_deleting_an_offset_that_is_not_there_writes_nothing(rig: Rig):
    await rig.commit()
    written = len(rig.journal.records)

    assert await rig.offsets.delete("g", [OTHER]) == (NONE, {OTHER: NONE})
    assert len(rig.journal.records) == written


@scenario
async def test_offset_of_a_consumed_topic_cannot_be_deleted(rig: Rig):
    await rig.commit(ONE, OTHER)
    await rig.member("t")

    error, codes = await rig.offsets.delete("g", [ONE, OTHER])

    assert error is NONE
    assert codes == {ONE: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, OTHER: NONE}
    assert (rig.committed(ONE), rig.committed(OTHER)) == (5, None)


@scenario
async def test_offsets_of_a_living_group_of_another_kind_cannot_be_deleted(rig: Rig):
    await rig.commit()
    await rig.member(protocol_type="connect")

    assert await rig.offsets.delete("g", [ONE]) == (ErrorCode.NON_EMPTY_GROUP, {})


@scenario
async def test_offsets_of_an_unknown_group_cannot_be_deleted(rig: Rig):
    assert await rig.offsets.delete("g", [ONE]) == (ErrorCode.GROUP_ID_NOT_FOUND, {})


@scenario
async def test_deletion_that_is_not_durable_deletes_nothing(rig: Rig):
    await rig.commit()
    rig.journal.is_failing = True

    assert await rig.offsets.delete("g", [ONE]) == (ErrorCode.NOT_COORDINATOR, {})
    assert rig.committed() == 5


@scenario
async def test_group_with_members_cannot_be_deleted(rig: Rig):
    member = await rig.member()
    assert await rig.offsets.delete_group("g") is ErrorCode.NON_EMPTY_GROUP

    await rig.leave(member)

    assert await rig.offsets.delete_group("g") is NONE
    assert await rig.offsets.delete_group("g") is ErrorCode.GROUP_ID_NOT_FOUND


@scenario
async def test_group_whose_deletion_is_not_durable_is_still_there(rig: Rig):
    await rig.commit()
    rig.journal.is_failing = True

    assert await rig.offsets.delete_group("g") is ErrorCode.NOT_COORDINATOR

    rig.journal.is_failing = False
    assert rig.committed() == 5
    assert await rig.offsets.delete_group("g") is NONE
    assert list(rig.groups) == []


@scenario
async def test_member_that_joins_while_its_group_is_deleted_stays_in_it(rig: Rig):
    await rig.commit()
    rig.journal.hold()
    deleting = asyncio.create_task(rig.offsets.delete_group("g"))
    await settle()
    joining = asyncio.create_task(rig.member("t"))
    await settle()
    rig.journal.release()

    assert await deleting is NONE
    member = await joining
    assert rig.committed() is None
    assert await rig.commit(generation=1, member_id=member) is NONE


@scenario
async def test_deletion_also_deletes_an_offset_that_is_still_being_written(rig: Rig):
    await rig.commit(ONE)
    rig.journal.hold()
    committing = asyncio.create_task(rig.commit(TWO))
    await settle()
    deleting = asyncio.create_task(rig.offsets.delete_group("g"))
    await settle()
    rig.journal.release()

    assert await committing is await deleting is NONE
    assert rig.offsets.of("g") == {}
    again = Groups(rig.clock, rig.journal)
    for record in rig.journal.records:
        again.replay(*record)
    assert again.offsets.of("g") == {}


@scenario
async def test_commit_that_follows_a_deletion_survives_it(rig: Rig):
    await rig.commit(ONE, offset=1)
    rig.journal.hold()
    deleting = asyncio.create_task(rig.offsets.delete_group("g"))
    await settle()
    committing = asyncio.create_task(rig.commit(ONE, offset=2))
    await settle()
    rig.journal.release()

    assert await deleting is await committing is NONE
    assert rig.committed() == 2
    assert rig.groups.find("g") is not None


@scenario
async def test_offsets_of_a_deleted_topic_are_forgotten_in_all_groups(rig: Rig):
    await rig.commit(ONE, OTHER)
    await rig.offsets.commit(Committer("h"), {TWO: CommittedOffset(1)})

    await rig.groups.forget_topic("t")

    assert rig.offsets.of("g").keys() == {OTHER}
    assert rig.offsets.of("h") == {}


@scenario
async def test_forgetting_a_topic_fails_loudly(rig: Rig):
    await rig.commit()
    rig.journal.is_failing = True

    with pytest.raises(StorageFailed):
        await rig.groups.forget_topic("t")


# Expiry


@scenario
async def test_offsets_of_a_simple_consumer_expire_after_their_commit(rig: Rig):
    await rig.commit(ONE)
    assert await rig.expire_after(6 * DAY_MS) == 0
    await rig.commit(TWO)

    assert await rig.expire_after(DAY_MS) == 1

    assert rig.offsets.of("g").keys() == {TWO}
    assert rig.groups.find("g") is not None
    assert await rig.expire_after(6 * DAY_MS) == 1
    assert rig.groups.find("g") is None


@scenario
async def test_offsets_of_a_group_expire_after_it_became_empty(rig: Rig):
    member = await rig.member("t")
    await rig.commit(generation=1, member_id=member)
    for _ in range(3):
        assert await rig.expire_after(7 * DAY_MS) == 0  # the member consumes it
    await rig.leave(member)
    assert await rig.expire_after(7 * DAY_MS - 1) == 0

    assert await rig.expire_after(1) == 1


@scenario
async def test_offset_of_a_topic_that_is_no_longer_consumed_expires_in_a_living_group(rig: Rig):
    await rig.commit(ONE, OTHER)
    await rig.member("t")

    assert await rig.expire_after(7 * DAY_MS) == 1
    assert rig.offsets.of("g").keys() == {ONE}


@scenario
async def test_offsets_of_a_living_group_of_another_kind_do_not_expire(rig: Rig):
    await rig.commit(ONE, OTHER)
    await rig.member("t", protocol_type="connect")

    assert await rig.expire_after(70 * DAY_MS) == 0


@scenario
async def test_offsets_do_not_expire_during_a_rebalance(rig: Rig):
    await rig.commit(OTHER)
    await rig.groups.join(join_request(protocols={"range": subscription("t")}), OLD_CLIENT)

    assert await rig.expire_after(70 * DAY_MS) == 0


@scenario
async def test_offset_with_its_own_expiry_goes_by_that(rig: Rig):
    soon = CommittedOffset(1, expires_at_ms=rig.clock.now_ms() + 1000)
    await rig.offsets.commit(Committer("g"), {ONE: soon})

    assert await rig.expire_after(999) == 0
    assert await rig.expire_after(1) == 1


@scenario
async def test_offset_that_is_being_written_again_does_not_expire(rig: Rig):
    await rig.commit(offset=1)
    rig.clock.advance(7 * DAY_MS / 1000)
    rig.journal.hold()
    committing = asyncio.create_task(rig.commit(offset=2))
    await settle()

    expiring = asyncio.create_task(rig.groups.expire_offsets(rig.clock.now_ms()))
    await settle()
    rig.journal.release()

    assert await committing is NONE
    assert await expiring == 0
    assert rig.committed() == 2


@scenario
async def test_empty_group_without_offsets_is_removed(rig: Rig):
    await rig.leave(await rig.member())

    await rig.groups.expire_offsets(rig.clock.now_ms())

    assert list(rig.groups) == []
    assert rig.journal.records[-1][1] is None


@scenario
async def test_group_that_expects_a_member_is_not_removed(rig: Rig):
    client = Client("app", "/127.0.0.1", 9)
    pending = await rig.groups.join(join_request(), client)

    await rig.groups.expire_offsets(rig.clock.now_ms())

    joined = await rig.groups.join(join_request(member_id=pending.member_id), client)
    assert joined.error_code == NONE


@scenario
async def test_expiry_fails_loudly(rig: Rig):
    await rig.commit()
    rig.journal.is_failing = True

    with pytest.raises(StorageFailed):
        await rig.expire_after(7 * DAY_MS)


@scenario
async def test_offsets_whose_expiry_failed_expire_the_next_time(rig: Rig):
    await rig.commit()
    rig.journal.is_failing = True
    with pytest.raises(StorageFailed):
        await rig.expire_after(7 * DAY_MS)
    rig.journal.is_failing = False

    assert await rig.expire_after(1) == 1
    assert (rig.committed(), list(rig.groups)) == (None, [])
