"""A broker that restarts: what was acknowledged is there again, and members just go on."""

import asyncio

from broker.groups.fakes import EPOCH_MS, HandClock, MemoryJournal, join_request, sync_request
from broker.groups.test_subscription import subscription
from headwater.broker.groups.committing import Committer
from headwater.broker.groups.coordinator import Groups
from headwater.broker.groups.group import GroupState
from headwater.broker.groups.member import Client
from headwater.broker.groups.records import CommittedOffset, TopicPartition
from headwater.broker.groups.settings import GroupSettings
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.heartbeat import HeartbeatRequest
from headwater.wire.messages.leave_group import MemberIdentity

OLD_CLIENT = Client("app", "/127.0.0.1", 3)
CLIENT = Client("app", "/127.0.0.1", 9)
ONE, TWO = TopicPartition("t", 0), TopicPartition("t", 1)


def restarted(journal: MemoryJournal, clock: HandClock, **settings: int) -> Groups:
    groups = Groups(clock, journal, GroupSettings(**settings))
    for key, value in journal.records:
        groups.replay(key, value)
    groups.loaded()
    return groups


def compacted(journal: MemoryJournal) -> MemoryJournal:
    """The same journal after compaction: the last record of each key, deletions gone."""
    last = {key: position for position, (key, _) in enumerate(journal.records)}
    after = MemoryJournal()
    after.records = [
        (key, value)
        for position, (key, value) in enumerate(journal.records)
        if last[key] == position and value is not None
    ]
    return after


def heartbeat(groups: Groups, member_id: str, instance_id: str | None = None) -> ErrorCode:
    return groups.heartbeat(
        HeartbeatRequest(
            group_id="g", member_id=member_id, generation_id=2, group_instance_id=instance_id
        )
    )


async def stable_pair(groups: Groups) -> tuple[str, str]:
    """A dynamic leader and a static follower in generation 2."""
    protocols = {"range": subscription("t")}
    first = await groups.join(join_request(protocols=protocols), OLD_CLIENT)
    leader = first.member_id
    joining = asyncio.create_task(
        groups.join(join_request(protocols=protocols, instance_id="one"), CLIENT)
    )
    await asyncio.sleep(0)
    await groups.join(join_request(member_id=leader, protocols=protocols), OLD_CLIENT)
    follower = (await joining).member_id
    assignments = {leader: b"for the leader", follower: b"for the follower"}
    await asyncio.gather(
        groups.sync(sync_request(2, follower, instance_id="one")),
        groups.sync(sync_request(2, leader, assignments)),
    )
    return leader, follower


def test_members_go_on_without_a_rebalance():
    async def scenario() -> None:
        clock, journal = HandClock(), MemoryJournal()
        leader, follower = await stable_pair(Groups(clock, journal))

        for left in (journal, compacted(journal)):
            groups = restarted(left, clock)
            group = groups.find("g")
            assert group is not None
            assert (group.state, group.generation) == (GroupState.STABLE, 2)
            assert group.roster.leader_id == leader
            assert heartbeat(groups, leader) is ErrorCode.NONE
            assert heartbeat(groups, follower, "one") is ErrorCode.NONE
            assert heartbeat(groups, "other", "one") is ErrorCode.FENCED_INSTANCE_ID
            synced = await groups.sync(sync_request(2, follower))
            assert synced.assignment == b"for the follower"
            assert group.is_subscribed_to("t")

    asyncio.run(scenario())


def test_members_have_a_full_session_after_the_restart():
    async def scenario() -> None:
        clock, journal = HandClock(), MemoryJournal()
        leader, follower = await stable_pair(Groups(clock, journal))
        clock.advance(3600)
        groups = restarted(journal, clock)

        clock.advance(9)
        groups.tick()
        assert heartbeat(groups, leader) is ErrorCode.NONE
        clock.advance(1)
        groups.tick()

        assert heartbeat(groups, leader) is ErrorCode.REBALANCE_IN_PROGRESS
        assert heartbeat(groups, follower) is ErrorCode.UNKNOWN_MEMBER_ID
        await groups.close()

    asyncio.run(scenario())


def test_static_member_returns_after_the_restart_without_a_rebalance():
    async def scenario() -> None:
        clock, journal = HandClock(), MemoryJournal()
        leader, follower = await stable_pair(Groups(clock, journal))
        groups = restarted(journal, clock)

        again = await groups.join(
            join_request(protocols={"range": subscription("t")}, instance_id="one"), CLIENT
        )

        assert (again.error_code, again.generation_id) == (ErrorCode.NONE, 2)
        assert again.member_id != follower
        assert heartbeat(groups, leader) is ErrorCode.NONE
        # The new id is durable too.
        assert heartbeat(restarted(journal, clock), again.member_id, "one") is ErrorCode.NONE

    asyncio.run(scenario())


def test_generation_that_was_not_durable_did_not_happen():
    async def scenario() -> None:
        clock, journal = HandClock(), MemoryJournal()
        groups = Groups(clock, journal)
        joined = await groups.join(join_request(), OLD_CLIENT)
        journal.is_failing = True
        synced = await groups.sync(sync_request(1, joined.member_id, {joined.member_id: b"x"}))
        assert synced.error_code == ErrorCode.NOT_COORDINATOR

        assert list(restarted(journal, clock)) == []

    asyncio.run(scenario())


def test_emptied_group_stays_empty_and_keeps_its_generation():
    async def scenario() -> None:
        clock, journal = HandClock(), MemoryJournal()
        groups = Groups(clock, journal)
        members = await stable_pair(groups)
        clock.advance(5)
        await groups.leave("g", [MemberIdentity(member_id=each) for each in members])

        group = restarted(journal, clock).find("g")

        assert group is not None
        assert (group.state, group.generation) == (GroupState.EMPTY, 3)
        assert group.protocol_type == "consumer"
        assert group.state_since_ms == EPOCH_MS + 1_005_000

    asyncio.run(scenario())


def test_offsets_come_back_with_metadata_and_epoch():
    async def scenario() -> None:
        clock, journal = HandClock(), MemoryJournal()
        groups = Groups(clock, journal)
        committed = {
            ONE: CommittedOffset(5, leader_epoch=2, metadata="ünïcödé ✓", committed_at_ms=1),
            TWO: CommittedOffset(6, committed_at_ms=2, expires_at_ms=99),
        }
        await groups.offsets.commit(Committer("g"), committed)

        for left in (journal, compacted(journal)):
            again = restarted(left, clock)
            assert again.offsets.of("g") == committed
            group = again.find("g")
            assert group is not None
            assert (group.state, group.protocol_type) == (GroupState.EMPTY, None)

    asyncio.run(scenario())


def test_deleted_group_stays_deleted():
    async def scenario() -> None:
        clock, journal = HandClock(), MemoryJournal()
        groups = Groups(clock, journal)
        await groups.offsets.commit(Committer("g"), {ONE: CommittedOffset(1)})
        assert await groups.offsets.delete_group("g") is ErrorCode.NONE

        for left in (journal, compacted(journal)):
            again = restarted(left, clock)
            assert list(again) == []
            assert again.offsets.of("g") == {}

    asyncio.run(scenario())


def test_group_that_is_larger_than_the_new_limit_rebalances():
    async def scenario() -> None:
        clock, journal = HandClock(), MemoryJournal()
        leader, _ = await stable_pair(Groups(clock, journal))

        groups = restarted(journal, clock, max_size=1)

        assert heartbeat(groups, leader) is ErrorCode.REBALANCE_IN_PROGRESS

    asyncio.run(scenario())


def test_every_prefix_of_the_journal_can_be_loaded():
    """A crash may cut the journal anywhere between two records."""

    async def scenario() -> None:
        clock, journal = HandClock(), MemoryJournal()
        groups = Groups(clock, journal)
        leader, follower = await stable_pair(groups)
        await groups.offsets.commit(Committer("g", 2, leader), {ONE: CommittedOffset(1)})
        await groups.leave("g", [MemberIdentity(member_id=each) for each in (leader, follower)])
        await groups.offsets.commit(Committer("g"), {TWO: CommittedOffset(2)})
        await groups.offsets.delete_group("g")
        for length in range(len(journal.records) + 1):
            prefix = MemoryJournal()
            prefix.records = journal.records[:length]
            generations = [group.generation for group in restarted(prefix, clock)]
            assert len(generations) <= 1

    asyncio.run(scenario())
