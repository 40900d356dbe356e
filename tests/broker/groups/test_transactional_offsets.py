"""Offsets that are part of a transaction: nobody reads them before it is committed, or if it never is."""

import asyncio
from collections.abc import Sequence

from broker.groups.test_offsets import NONE, ONE, OTHER, TWO, Rig, scenario
from headwater.broker.groups.committing import Committer
from headwater.broker.groups.journal import Entry, TransactionEnd
from headwater.broker.groups.records import CommittedOffset, TopicPartition
from headwater.errors import Fenced
from headwater.wire.error_codes import ErrorCode
from headwater.wire.record_batch import ProducerIdAndEpoch

ALICE, BOB = ProducerIdAndEpoch(1, 0), ProducerIdAndEpoch(2, 0)
DAY_MS = 86_400_000


async def pend(
    rig: Rig,
    offset: int,
    partition: TopicPartition = ONE,
    producer: ProducerIdAndEpoch = ALICE,
    **committer: object,
) -> ErrorCode:
    new = CommittedOffset(offset, committed_at_ms=rig.clock.now_ms())
    codes = await rig.offsets.commit(Committer("g", **committer), {partition: new}, producer)
    return codes[partition]


async def end(rig: Rig, *, is_commit: bool, producer: ProducerIdAndEpoch = ALICE) -> None:
    assert await rig.offsets.end_transaction(producer, TransactionEnd(is_commit, 0, 0)) is None


def restarted(rig: Rig) -> Rig:
    """What comes back of the groups from what they have written."""
    again = Rig()
    for entry in rig.journal.entries:
        for position, (key, value) in enumerate(entry.records):
            again.groups.replay(
                key,
                value,
                offset=entry.base_offset + position,
                producer_id=entry.producer.id,
            )
        if entry.end is not None:
            again.groups.replay_end(entry.producer.id, is_commit=entry.end.is_commit)
    again.groups.loaded()
    return again


@scenario
async def test_offset_counts_from_the_commit_on(rig: Rig) -> None:
    assert await pend(rig, 5) is NONE
    assert (rig.committed(), rig.offsets.pending("g")) == (None, {ONE})

    await end(rig, is_commit=True)

    assert (rig.committed(), rig.offsets.pending("g")) == (5, set())


@scenario
async def test_aborted_offset_is_gone(rig: Rig) -> None:
    await rig.commit(offset=3)
    await pend(rig, 5)
    await end(rig, is_commit=False)

    assert (rig.committed(), rig.offsets.pending("g")) == (3, set())
    await end(rig, is_commit=True)
    assert rig.committed() == 3


@scenario
async def test_transactions_of_two_producers_are_apart(rig: Rig) -> None:
    await pend(rig, 5)
    await pend(rig, 6, TWO, BOB)
    await end(rig, is_commit=True, producer=BOB)

    assert (rig.committed(), rig.committed(TWO)) == (None, 6)
    assert rig.offsets.pending("g") == {ONE}


@scenario
async def test_what_was_written_later_counts_whichever_ends_last(rig: Rig) -> None:
    await pend(rig, 5)
    await rig.commit(offset=8)
    await end(rig, is_commit=True)
    assert rig.committed() == 8

    await pend(rig, 9)
    await end(rig, is_commit=True)
    assert rig.committed() == 9


@scenario
async def test_offsets_are_pending_again_after_a_restart(rig: Rig) -> None:
    await pend(rig, 5)
    await pend(rig, 6, TWO, BOB)
    await end(rig, is_commit=True, producer=BOB)
    again = restarted(rig)

    assert (again.committed(), again.committed(TWO)) == (None, 6)
    assert again.offsets.pending("g") == {ONE}
    await end(again, is_commit=True)
    assert again.committed() == 5


@scenario
async def test_deleted_offset_does_not_come_back_with_the_commit(rig: Rig) -> None:
    await pend(rig, 5)
    await pend(rig, 5, OTHER)
    await rig.groups.forget_topic("u")
    code, codes = await rig.offsets.delete("g", [ONE])
    assert (code, codes) == (NONE, {ONE: NONE})
    await end(rig, is_commit=True)

    assert (rig.committed(), rig.committed(OTHER)) == (None, None)
    assert rig.journal.records[-1][1] is None


@scenario
async def test_offset_of_a_deleted_topic_does_not_come_back_after_a_restart_either(
    rig: Rig,
) -> None:
    await pend(rig, 5, OTHER)
    again = restarted(rig)
    await again.groups.forget_topic("u")
    await end(again, is_commit=True)

    assert again.committed(OTHER) is None


@scenario
async def test_deleted_group_does_not_come_back_with_the_commit(rig: Rig) -> None:
    await pend(rig, 5)
    assert await rig.offsets.delete_group("g") is NONE
    await end(rig, is_commit=True)

    assert rig.committed() is None


@scenario
async def test_group_with_a_pending_offset_does_not_expire(rig: Rig) -> None:
    await rig.commit(offset=3)
    await pend(rig, 5)
    assert await rig.expire_after(8 * DAY_MS) == 0
    await end(rig, is_commit=False)

    assert await rig.expire_after(1) == 1
    assert rig.groups.find("g") is None


@scenario
async def test_members_are_checked_as_far_as_they_name_themselves(rig: Rig) -> None:
    member = await rig.member("t")
    me = {"generation": 1, "member_id": member}

    assert await pend(rig, 5, **me) is NONE
    assert await pend(rig, 5) is NONE
    assert await pend(rig, 5, generation=2, member_id=member) is ErrorCode.ILLEGAL_GENERATION
    assert await pend(rig, 5, generation=1, member_id="?") is ErrorCode.UNKNOWN_MEMBER_ID
    assert await pend(rig, 5, member_id="?") is ErrorCode.UNKNOWN_MEMBER_ID


@scenario
async def test_refused_entry_costs_only_itself(rig: Rig) -> None:
    """A batch that the log refuses (an old epoch) is not the end of what was written with it."""
    journal = rig.journal
    append = journal.append

    async def refusing(entries: Sequence[Entry]) -> None:
        await append(entries)
        for each in entries:
            if each.producer == BOB:
                each.error = Fenced("an old epoch")

    journal.append = refusing
    journal.hold()
    tasks = [
        asyncio.create_task(pend(rig, 5, ONE, ALICE)),
        asyncio.create_task(pend(rig, 6, TWO, BOB)),
    ]
    await asyncio.sleep(0)
    journal.release()

    assert await tasks[0] is NONE
    assert await tasks[1] is ErrorCode.INVALID_PRODUCER_EPOCH
    assert rig.offsets.pending("g") == {ONE}
