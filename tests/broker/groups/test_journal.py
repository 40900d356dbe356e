"""The ledger: writes settle in order, together where they can, and nobody waits for ever."""

import asyncio
import gc

import pytest

from broker.groups.fakes import MemoryJournal
from headwater.broker.groups.journal import Entry, Ledger, code_after
from headwater.errors import Conflict, HeadwaterError, RecordTooLarge, StorageFailed, Unavailable
from headwater.wire.error_codes import ErrorCode


def test_effects_happen_in_the_order_of_the_writes():
    async def scenario() -> None:
        ledger = Ledger(MemoryJournal())
        order: list[int] = []
        for number in range(5):
            ledger.write(
                Entry([(b"k", b"%d" % number)]), lambda _, number=number: order.append(number)
            )
        await ledger.flush()
        assert order == [0, 1, 2, 3, 4]

    asyncio.run(scenario())


def test_writes_that_come_during_an_append_go_together_into_the_next():
    async def scenario() -> None:
        journal = MemoryJournal()
        ledger = Ledger(journal)
        journal.hold()
        first = asyncio.create_task(ledger.written(Entry([(b"a", b"")]), lambda _: None))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        later = [
            asyncio.create_task(ledger.written(Entry([(b"b", b"")]), lambda _: None))
            for _ in range(10)
        ]
        await asyncio.sleep(0)
        journal.release()
        await asyncio.gather(first, *later)
        assert journal.appends == 2
        assert len(journal.records) == 11

    asyncio.run(scenario())


def test_effect_happens_although_the_caller_has_gone():
    async def scenario() -> None:
        journal = MemoryJournal()
        ledger = Ledger(journal)
        journal.hold()
        settled: list[HeadwaterError | None] = []
        caller = asyncio.create_task(ledger.written(Entry([(b"a", b"")]), settled.append))
        await asyncio.sleep(0)
        caller.cancel()
        journal.release()
        await ledger.flush()
        assert settled == [None]

    asyncio.run(scenario())


def test_failure_reaches_every_writer():
    async def scenario() -> None:
        journal = MemoryJournal()
        journal.is_failing = True
        ledger = Ledger(journal)
        errors = await asyncio.gather(
            *(ledger.written(Entry([(b"a", b"")]), lambda _: None) for _ in range(3))
        )
        assert all(isinstance(error, StorageFailed) for error in errors)

    asyncio.run(scenario())


def test_journal_that_breaks_its_contract_leaves_nobody_waiting():
    class BrokenJournal:
        async def append(self, _records: object) -> None:
            raise ZeroDivisionError

    async def scenario() -> None:
        reported: list[BaseException] = []
        asyncio.get_running_loop().set_exception_handler(
            lambda _loop, report: reported.append(report["exception"])
        )
        ledger = Ledger(BrokenJournal())
        errors = await asyncio.gather(
            *(ledger.written(Entry([(b"a", b"")]), lambda _: None) for _ in range(3))
        )
        assert all(isinstance(error, Unavailable) for error in errors)
        gc.collect()
        assert [type(error) for error in reported] == [ZeroDivisionError]

    asyncio.run(scenario())


def test_flush_of_an_idle_ledger_writes_nothing():
    async def scenario() -> None:
        journal = MemoryJournal()
        await Ledger(journal).flush()
        assert journal.appends == 0

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (None, ErrorCode.NONE),
        (StorageFailed("x"), ErrorCode.NOT_COORDINATOR),
        (RecordTooLarge("x"), ErrorCode.UNKNOWN_SERVER_ERROR),
        (Unavailable("x"), ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (Conflict("x"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_codes_after_a_write(error: HeadwaterError | None, code: ErrorCode):
    assert code_after(error) is code
