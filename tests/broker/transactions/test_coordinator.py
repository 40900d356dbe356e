"""The transaction coordinator: the order of records, markers and answers; timeouts; restarts."""

import asyncio

import pytest

from broker.transactions.fakes import DAY_MS, NEW, NONE, OLD, ONE, TWO, Rig, scenario, settle
from headwater.broker.transactions.endings import TooEarly
from headwater.broker.transactions.records import decode_transaction
from headwater.broker.transactions.transaction import (
    LAST_USED_EPOCH,
    TransactionState,
)
from headwater.errors import Superseded
from headwater.wire.error_codes import ErrorCode
from headwater.wire.record_batch import ProducerIdAndEpoch

ONGOING = TransactionState.ONGOING
PREPARE_COMMIT = TransactionState.PREPARE_COMMIT
COMPLETE_COMMIT, COMPLETE_ABORT = TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT


@scenario
async def test_markers_wait_for_prepare_and_complete_waits_for_the_markers(rig: Rig) -> None:
    producer = await rig.started()
    await rig.add(producer)
    rig.journal.hold()
    ending = asyncio.create_task(rig.end(producer))
    await settle()
    assert (rig.state, rig.markers.written) == (PREPARE_COMMIT, [])

    assert not ending.done(), "answered before the outcome is durable"

    rig.markers.hold()
    rig.journal.release()
    assert (await ending).error is NONE
    await settle()
    assert rig.state is PREPARE_COMMIT, "complete before every partition knows"

    rig.markers.release()
    await settle()
    assert rig.state is COMPLETE_COMMIT
    (written,) = rig.markers.written
    assert (written.is_commit, written.partitions) == (True, {ONE})


@scenario
async def test_nobody_is_told_of_what_is_not_durable(rig: Rig) -> None:
    rig.journal.hold()
    initializing = asyncio.create_task(rig.init())
    await settle()
    assert not initializing.done()
    rig.journal.release()
    producer = (await initializing).producer
    rig.journal.hold()
    adding = asyncio.create_task(rig.add(producer))
    await settle()
    assert not adding.done()
    rig.journal.release()
    assert await adding is NONE


async def next_begun_with_complete_unsynced(rig: Rig, version: int = OLD) -> ProducerIdAndEpoch:
    """A client has ended one transaction and added a partition to the next; nothing of that is durable."""
    producer = await rig.started()
    await rig.add(producer)
    rig.markers.hold()
    await rig.end(producer)
    rig.journal.hold()
    rig.markers.release()
    await rig.transactions.ready("x")
    assert rig.transactions.add_ahead("x", producer, {ONE}, version) is NONE
    assert rig.state is ONGOING
    return producer


@scenario
async def test_nothing_of_an_old_client_follows_a_transaction_whose_complete_may_get_lost(
    rig: Rig,
) -> None:
    """Its markers would be written once more, and end what follows."""
    producer = await next_begun_with_complete_unsynced(rig)

    with pytest.raises(TooEarly) as early:
        rig.transactions.refuse_early("x")
    writing = asyncio.create_task(rig.transactions.ready_to_write("x"))
    await settle()
    assert not writing.done()

    rig.journal.release()
    await asyncio.gather(writing, early.value.until)
    assert rig.journal.synced == len(rig.journal.records)
    rig.transactions.refuse_early("x")
    assert rig.transactions.verify("x", producer, ONE) is NONE


@scenario
async def test_client_that_bumps_no_epochs_waits_whatever_version_it_adds_partitions_with(
    rig: Rig,
) -> None:
    await next_begun_with_complete_unsynced(rig, version=NEW)

    with pytest.raises(TooEarly):
        rig.transactions.refuse_early("x")

    rig.journal.release()


@scenario
async def test_nothing_is_written_if_the_end_of_the_last_transaction_is_lost(rig: Rig) -> None:
    producer = await next_begun_with_complete_unsynced(rig)
    rig.journal.is_failing = True
    rig.journal.release()
    await rig.transactions.ready_to_write("x")

    rig.transactions.refuse_early("x")
    assert rig.transactions.verify("x", producer, ONE) is ErrorCode.NOT_COORDINATOR


@scenario
async def test_answer_has_the_next_epoch_since_version_2(rig: Rig) -> None:
    producer = await rig.started()
    await rig.add(producer, version=NEW)

    answer = await rig.end(producer, version=NEW)
    again = await rig.end(producer, version=NEW)

    assert answer.producer == again.producer == producer._replace(epoch=1)
    assert (answer.error, again.error) == (NONE, NONE)
    assert len(rig.markers.written) == 1


@scenario
async def test_requests_wait_while_a_transaction_is_being_ended(rig: Rig) -> None:
    producer = await rig.started()
    await rig.add(producer)
    rig.markers.hold()
    assert (await rig.end(producer)).error is NONE

    with pytest.raises(TooEarly):
        rig.transactions.refuse_early("x")
    waiting = [
        asyncio.create_task(rig.transactions.settled(ONE)),
        asyncio.create_task(rig.transactions.ready("x")),
        asyncio.create_task(rig.end(producer)),
        asyncio.create_task(rig.init()),
    ]
    others = [rig.transactions.settled(TWO), rig.transactions.ready("y")]
    await asyncio.gather(*others)
    await settle()
    assert [each.done() for each in waiting] == [False] * 4

    rig.markers.release()
    _, _, ended, initialized = await asyncio.gather(*waiting)
    assert (ended.error, initialized.error) == (NONE, NONE)
    rig.transactions.refuse_early("x")
    assert len(rig.markers.written) == 1


@scenario
async def test_requests_are_refused_while_markers_cannot_be_written(rig: Rig) -> None:
    producer = await rig.started()
    await rig.add(producer)
    rig.markers.failing = {ONE}
    assert (await rig.end(producer)).error is NONE
    await settle()

    assert (await rig.init()).error is ErrorCode.CONCURRENT_TRANSACTIONS
    assert await rig.add(producer, TWO) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert (await rig.end(producer)).error is ErrorCode.CONCURRENT_TRANSACTIONS
    rig.markers.failing = set()
    await rig.pass_time(1)
    assert await rig.add(producer, TWO) is NONE


@scenario
async def test_marker_is_written_once_while_that_of_another_partition_cannot_be(rig: Rig) -> None:
    producer = await rig.started()
    await rig.add(producer, ONE, TWO)
    rig.markers.failing = {ONE}
    await rig.end(producer)
    await settle()
    for _ in range(3):
        await rig.pass_time(1)
    assert rig.markers.places == [TWO]

    rig.markers.failing = set()
    await rig.pass_time(1)
    assert rig.state is COMPLETE_COMMIT
    assert rig.markers.places == [TWO, ONE]
    await rig.add(producer, TWO)
    await rig.end(producer)
    await rig.transactions.ready("x")
    assert rig.markers.places == [TWO, ONE, TWO]


@scenario
async def test_markers_are_written_once_while_the_end_cannot_be_written_down(rig: Rig) -> None:
    producer = await rig.started()
    await rig.add(producer)
    rig.markers.hold()
    await rig.end(producer)
    rig.journal.is_full = True
    rig.markers.release()
    await rig.transactions.ready("x")
    await rig.pass_time(1)
    rig.journal.is_full = False
    await rig.pass_time(1)

    assert rig.state is COMPLETE_COMMIT
    assert rig.markers.places == [ONE]


@scenario
async def test_open_transaction_is_aborted_before_a_new_client_gets_the_id(rig: Rig) -> None:
    producer = await rig.started()
    await rig.add(producer)

    first, second = await rig.init(), await rig.init()

    assert first.error is ErrorCode.CONCURRENT_TRANSACTIONS
    (written,) = rig.markers.written
    assert (written.is_commit, written.producer.epoch) == (False, 1)
    assert second.producer == ProducerIdAndEpoch(producer.id, 2)
    assert (await rig.end(producer)).error is ErrorCode.PRODUCER_FENCED


@scenario
async def test_transaction_that_takes_too_long_is_aborted_in_the_next_epoch(rig: Rig) -> None:
    producer = (await rig.init(timeout_ms=10_000)).producer
    await rig.add(producer)
    await rig.pass_time(9)
    assert rig.state is ONGOING
    await rig.add(producer, TWO)
    await rig.pass_time(1)

    assert rig.state is COMPLETE_ABORT
    assert rig.transaction.producer.epoch == 1
    assert rig.markers.written[0].partitions == {ONE, TWO}
    assert (await rig.end(producer)).error is ErrorCode.PRODUCER_FENCED


@scenario
async def test_transaction_that_has_ended_does_not_time_out(rig: Rig) -> None:
    producer = (await rig.init(timeout_ms=10_000)).producer
    await rig.add(producer)
    await rig.end(producer)
    await rig.pass_time(9)
    await rig.add(producer)
    await rig.pass_time(9)

    assert rig.state is ONGOING


@scenario
async def test_clock_that_jumps_forward_aborts_nothing_early(rig: Rig) -> None:
    producer = (await rig.init(timeout_ms=10_000)).producer
    await rig.add(producer)
    wall = rig.clock.now_ms
    rig.clock.now_ms = lambda: wall() + DAY_MS  # type: ignore[method-assign]
    rig.transactions.tick()
    await settle()
    await rig.add(producer, TWO)
    await rig.pass_time(9)
    assert rig.state is ONGOING

    await rig.pass_time(1)
    assert rig.state is COMPLETE_ABORT


@scenario
async def test_timeout_goes_on_after_a_restart(rig: Rig) -> None:
    producer = (await rig.init(timeout_ms=10_000)).producer
    await rig.add(producer)
    rig.clock.advance(6)
    await rig.restart()
    await rig.pass_time(3)
    assert rig.state is ONGOING
    await rig.pass_time(1)

    assert rig.state is COMPLETE_ABORT


@scenario
async def test_what_was_decided_is_carried_out_after_a_crash(rig: Rig) -> None:
    for is_commit in (True, False):
        producer = (await rig.init()).producer
        await rig.add(producer)
        rig.markers.hold()
        ending = asyncio.create_task(rig.end(producer, is_commit=is_commit))
        await settle()
        ending.cancel()

        await rig.restart(is_crash=True)

        (written,) = rig.markers.written
        assert written.is_commit is is_commit
        assert rig.state is (COMPLETE_COMMIT if is_commit else COMPLETE_ABORT)


@scenario
async def test_what_was_not_decided_is_open_after_a_crash(rig: Rig) -> None:
    producer = await rig.started()
    await rig.add(producer)
    rig.journal.hold()
    ending = asyncio.create_task(rig.end(producer))
    await settle()
    ending.cancel()

    await rig.restart(is_crash=True)

    assert rig.state is ONGOING
    assert (await rig.end(producer, is_commit=False)).error is NONE


@scenario
async def test_lost_complete_record_costs_only_a_second_marker(rig: Rig) -> None:
    """Complete is not waited for: the next step of the same id makes it durable."""
    producer = await rig.started()
    await rig.add(producer)
    await rig.end(producer)
    await settle()
    assert rig.journal.synced < len(rig.journal.records)

    await rig.restart(is_crash=True)

    assert rig.state is COMPLETE_COMMIT
    assert [each.is_commit for each in rig.markers.written] == [True]


@scenario
async def test_markers_that_fail_are_tried_again_and_the_outcome_stays(rig: Rig) -> None:
    producer = await rig.started()
    await rig.add(producer)
    rig.markers.failing = {ONE}
    assert (await rig.end(producer)).error is NONE
    assert rig.state is PREPARE_COMMIT
    assert await rig.add(producer) is ErrorCode.CONCURRENT_TRANSACTIONS
    await rig.pass_time(1)
    assert rig.state is PREPARE_COMMIT
    rig.markers.failing = set()
    await rig.pass_time(1)

    assert rig.state is COMPLETE_COMMIT
    assert rig.markers.written[-1].is_commit


@scenario
async def test_full_disk_changes_nothing(rig: Rig) -> None:
    producer = await rig.started()
    await rig.add(producer)
    rig.journal.is_full = True

    assert (await rig.end(producer)).error is ErrorCode.NOT_COORDINATOR
    assert await rig.add(producer, TWO) is ErrorCode.NOT_COORDINATOR
    assert (await rig.init()).error is ErrorCode.NOT_COORDINATOR
    assert (rig.state, rig.transaction.partitions) == (ONGOING, {ONE})

    rig.journal.is_full = False
    assert (await rig.end(producer)).error is NONE


@scenario
async def test_timed_out_transaction_on_a_full_disk_is_aborted_later(rig: Rig) -> None:
    producer = (await rig.init(timeout_ms=10_000)).producer
    await rig.add(producer)
    rig.journal.is_full = True
    await rig.pass_time(10)
    assert rig.state is ONGOING
    rig.journal.is_full = False
    await rig.pass_time(1)

    assert rig.state is COMPLETE_ABORT


@scenario
async def test_journal_that_fails_decides_nothing(rig: Rig) -> None:
    producer = await rig.started()
    await rig.add(producer)
    rig.journal.hold()
    ending = asyncio.create_task(rig.end(producer))
    await settle()
    rig.journal.is_failing = True
    rig.journal.release()

    assert (await ending).error is ErrorCode.NOT_COORDINATOR
    assert rig.markers.written == []


@scenario
async def test_two_clients_that_begin_at_once_get_epochs_of_their_own(rig: Rig) -> None:
    answers = await asyncio.gather(rig.init(), rig.init(), rig.init())

    assert [each.error for each in answers] == [NONE] * 3
    assert len({each.producer.id for each in answers}) == 1
    assert [each.producer.epoch for each in answers] == [0, 1, 2]


@scenario
async def test_client_that_asks_again_after_a_crash_is_known(rig: Rig) -> None:
    producer = await rig.started()
    first = await rig.init(producer)
    await rig.restart(is_crash=True)

    again = await rig.init(producer)

    assert again == first


@scenario
async def test_epochs_run_out_and_a_new_id_follows(rig: Rig) -> None:
    producer = await rig.started()
    worn = rig.transaction.with_epoch(LAST_USED_EPOCH, -1, 60_000, 0)
    rig.transactions._take(worn)
    await rig.add(worn.producer, version=NEW)
    answer = await rig.end(worn.producer, version=NEW)

    assert answer.producer.epoch == 0
    assert answer.producer.id > producer.id
    assert rig.markers.written[0].producer == ProducerIdAndEpoch(producer.id, LAST_USED_EPOCH + 1)
    assert (await rig.end(worn.producer, version=NEW)) == answer
    assert await rig.add(answer.producer, version=NEW) is NONE


@scenario
async def test_timeout_in_the_last_epoch_gives_a_new_id(rig: Rig) -> None:
    producer = await rig.started()
    worn = rig.transaction.with_epoch(LAST_USED_EPOCH, -1, 10_000, 0)
    rig.transactions._take(worn)
    await rig.add(worn.producer)
    await rig.pass_time(10)

    assert rig.state is COMPLETE_ABORT
    assert rig.transaction.producer.epoch == 0
    assert rig.transaction.producer.id > producer.id


@scenario
async def test_idle_ids_are_forgotten_and_open_ones_are_not(rig: Rig) -> None:
    await rig.started()
    assert await rig.transactions.expire_ids(rig.clock.now_ms() + 7 * DAY_MS - 1) == 0
    assert await rig.transactions.expire_ids(rig.clock.now_ms() + 7 * DAY_MS) == 1
    assert rig.transactions.find("x") is None
    await rig.restart()
    assert rig.transactions.find("x") is None

    producer = await rig.started()
    await rig.add(producer)
    assert await rig.transactions.expire_ids(rig.clock.now_ms() + 30 * DAY_MS) == 0


@scenario
async def test_forgotten_id_begins_anew_and_its_old_client_is_refused(rig: Rig) -> None:
    before = await rig.started()
    await rig.transactions.expire_ids(rig.clock.now_ms() + 7 * DAY_MS)

    assert await rig.add(before) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert (await rig.end(before)).error is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    after = await rig.started()
    assert after.id != before.id


@scenario
async def test_bad_requests_are_refused(rig: Rig) -> None:
    initialize = rig.transactions.initialize
    assert (await initialize("", 1000, None)).error is ErrorCode.INVALID_REQUEST
    for timeout_ms in (0, -1, 900_001):
        answer = await initialize("x", timeout_ms, None)
        assert answer.error is ErrorCode.INVALID_TRANSACTION_TIMEOUT
    nobody = ProducerIdAndEpoch(1, 0)
    assert await rig.add(nobody) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert rig.transactions.add("", nobody, {ONE}, OLD) is ErrorCode.INVALID_REQUEST
    assert rig.transactions.verify("", nobody, ONE) is ErrorCode.INVALID_REQUEST
    assert (await rig.end(nobody)).error is ErrorCode.INVALID_PRODUCER_ID_MAPPING


@scenario
async def test_close_finishes_what_is_being_ended(rig: Rig) -> None:
    producer = await rig.started()
    await rig.add(producer)
    rig.markers.hold()
    ending = asyncio.create_task(rig.end(producer))
    await settle()
    closing = asyncio.create_task(rig.transactions.close())
    await settle()
    assert not closing.done()
    rig.markers.release()
    await closing

    assert rig.state is COMPLETE_COMMIT
    assert (await ending).error is NONE


@scenario
async def test_transactions_time_out_while_it_runs(rig: Rig) -> None:
    """`run` sleeps until the next deadline, and is woken when there is an earlier one."""
    running = asyncio.create_task(rig.transactions.run())
    await settle()
    producer = (await rig.init(timeout_ms=1)).producer
    rig.clock.advance(1)
    await rig.add(producer)
    rig.clock.advance(1)
    await rig.markers.is_written.wait()
    await rig.transactions.close()
    await running
    assert rig.state is COMPLETE_ABORT


@scenario
async def test_request_on_an_older_connection_is_late(rig: Rig) -> None:
    producer = await rig.started()
    refuse_late = rig.transactions.refuse_late
    refuse_late("coordinator", "x", producer, 5)
    refuse_late("coordinator", "x", producer, 8)
    refuse_late("coordinator", "x", producer, 8)
    refuse_late("produce", "x", producer, 5)

    with pytest.raises(Superseded, match="newer connection"):
        refuse_late("coordinator", "x", producer, 5)
    # A zombie is refused by its epoch, and cannot make the connection of its successor look old.
    refuse_late("coordinator", "x", producer._replace(epoch=7), 9)
    refuse_late("coordinator", "x", producer, 8)
    await rig.init()
    successor = rig.transaction.producer
    refuse_late("coordinator", "x", successor, 2)


@scenario
async def test_every_step_is_in_the_journal(rig: Rig) -> None:
    producer = await rig.started()
    await rig.add(producer)
    await rig.add(producer, TWO)
    await rig.end(producer)
    states = []
    for key, value in rig.journal.records:
        _, found = decode_transaction(key, value)
        assert found is not None
        states.append((found.state.shown, len(found.partitions)))

    assert states == [
        ("Empty", 0),
        ("Ongoing", 1),
        ("Ongoing", 2),
        ("PrepareCommit", 2),
        ("CompleteCommit", 0),
    ]
