"""The transaction coordinator: requests and deadlines go in, answers, records and markers come out.

A step takes effect when its record is appended, in the order of the log, and nobody is told of it before
the record is durable (but for partitions that are added ahead of what will be written there). So what one
request sees of another is never taken back by a crash alone: either both records are there afterwards or
neither was answered. Markers are written once Prepare is durable, and Complete once all markers are; who
ended the transaction is answered before them, and whoever could notice waits for them. One event loop calls
everything here; no thread shares any of it.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Coroutine, Iterator
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Final, NamedTuple

from headwater.broker.deadlines import Deadline, Deadlines, Now, run_deadlines
from headwater.broker.groups.journal import code_after
from headwater.broker.groups.pieces import PIECE_BYTES, cut, size_of
from headwater.broker.groups.records import TopicPartition
from headwater.broker.shared_futures import result_of
from headwater.broker.transactions import deciding
from headwater.broker.transactions.deciding import Ending, Initialization
from headwater.broker.transactions.endings import Endings, TooEarly
from headwater.broker.transactions.journal import Journal, Markers, ProducerIds
from headwater.broker.transactions.late_requests import LateRequests
from headwater.broker.transactions.records import decode_transaction, encode_transaction
from headwater.broker.transactions.settings import TransactionSettings
from headwater.broker.transactions.transaction import (
    Transaction,
    TransactionState,
)
from headwater.clock import Clock
from headwater.errors import HeadwaterError
from headwater.wire.error_codes import ErrorCode
from headwater.wire.record_batch import NO_PRODUCER, NOBODY, ProducerIdAndEpoch

logger = logging.getLogger(__name__)

RETRY_S: Final = 1.0
_DEFAULT_SETTINGS = TransactionSettings()


class Answer(NamedTuple):
    """What a client is told of its identity."""

    error: ErrorCode
    producer: ProducerIdAndEpoch = NOBODY


class Transactions:
    """All transactional ids of the broker.

    Life: `replay` every record of the journal, `resume()`, `run()` beside the server, `close()`.
    """

    def __init__(
        self,
        clock: Clock,
        journal: Journal,
        markers: Markers,
        producer_ids: ProducerIds,
        settings: TransactionSettings = _DEFAULT_SETTINGS,
    ) -> None:
        self.settings = settings
        self._clock = clock
        self._journal = journal
        self._producer_ids = producer_ids
        self._transactions: dict[str, Transaction] = {}
        self._replayed: dict[bytes, bytes | None] = {}
        self._sooner = asyncio.Event()
        self._deadlines = Deadlines(on_sooner=self._sooner.set)
        self._due: dict[str, Deadline] = {}
        self._endings = Endings(journal, markers, self._complete, self._try_again)
        self._tasks: set[asyncio.Task[None]] = set()
        self._late = LateRequests()
        self._ahead: dict[str, asyncio.Future[None]] = {}
        """The sync of what was added ahead, and of the end of the transaction before it."""
        self._is_closed = False

    def __iter__(self) -> Iterator[Transaction]:
        return iter(self._transactions.values())

    def find(self, transactional_id: str) -> Transaction | None:
        return self._transactions.get(transactional_id)

    # Life

    def replay(self, key: bytes, value: bytes | None) -> None:
        """Take in one record of the journal, in its order; `resume` reads the last of each key."""
        self._replayed[key] = value

    async def resume(self) -> None:
        """Begin to serve what was replayed: what was decided is carried out, timeouts go on."""
        for key, value in self._replayed.items():
            transactional_id, found = decode_transaction(key, value)
            if found is not None:
                self._transactions[transactional_id] = found
        self._replayed.clear()
        for transaction in self:
            if transaction.state is TransactionState.ONGOING:
                age_ms = max(0, self._clock.now_ms() - transaction.started_at_ms)
                self._set_deadline(transaction, max(0, transaction.timeout_ms - age_ms))
        decided = [each for each in self if each.state.is_prepared]
        await asyncio.gather(*(self._endings.carry_out(each) for each in decided))

    def tick(self) -> None:
        """Do what has fallen due by now."""
        self._deadlines.expire_due(self._now())

    async def run(self) -> None:
        """Abort transactions as they time out, until `close`."""
        await run_deadlines(self._deadlines, self._sooner, self._now, lambda: self._is_closed)

    async def close(self) -> None:
        """Finish what is being written; what cannot be finished is left to the next start."""
        self._is_closed = True
        self._sooner.set()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._endings.finish()

    async def expire_ids(self, now_ms: int) -> int:
        """Forget ids that nobody has used for long; returns how many. Raises if that is not durable."""
        before_ms = now_ms - self.settings.id_expiration_ms
        idle = [
            each.transactional_id
            for each in self
            if each.updated_at_ms <= before_ms
            and each.state is not TransactionState.ONGOING
            and not each.state.is_prepared
        ]
        records = {each: encode_transaction(each, None) for each in idle}
        for expired in cut(idle, lambda each: size_of(records[each]), PIECE_BYTES):
            self._journal.append([records[each] for each in expired])
            for each in expired:
                del self._transactions[each]
        if idle:
            self._late.forget(set(idle))
            await result_of(self._journal.durable())
        return len(idle)

    # Requests

    async def initialize(
        self, transactional_id: str, timeout_ms: int, expected: ProducerIdAndEpoch | None
    ) -> Answer:
        """InitProducerId: give the id to the client that asks, and fence who had it before."""
        if not transactional_id:
            return Answer(ErrorCode.INVALID_REQUEST)
        if not 0 < timeout_ms <= self.settings.max_timeout_ms:
            return Answer(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        await self.ready(transactional_id)
        try:
            fresh = await self._fresh_id_if_needed(transactional_id)
            transaction = self.find(transactional_id)
            if transaction is None:
                transaction = Transaction(transactional_id, ProducerIdAndEpoch(fresh, -1))
            asked = Initialization(timeout_ms, expected, fresh)
            outcome = deciding.initialize(transaction, asked, self._clock.now_ms())
            if isinstance(outcome, ErrorCode):
                return Answer(outcome)
            self._take(outcome)
            if outcome.state.is_prepared:
                await self._endings.carry_out(outcome)
                return Answer(ErrorCode.CONCURRENT_TRANSACTIONS)
            await result_of(self._journal.durable())
        except HeadwaterError as error:
            return Answer(code_after(error))
        return Answer(ErrorCode.NONE, outcome.producer)

    async def ready(self, transactional_id: str) -> None:
        """Wait for the markers of the last transaction: nothing of the next one comes before them."""
        await self._endings.wait_for(transactional_id)

    def refuse_early(self, transactional_id: str) -> None:
        """Raise `TooEarly` while the last transaction of this id is not over, durably."""
        for awaited in (self._endings.find(transactional_id), self._ahead.get(transactional_id)):
            if awaited is not None and not awaited.done():
                raise TooEarly(awaited)

    async def ready_to_write(self, transactional_id: str) -> None:
        """Wait until the last transaction of this id is over, durably."""
        await self.ready(transactional_id)
        if (ahead := self._ahead.get(transactional_id)) is not None:
            await asyncio.wait([ahead])

    async def settled(self, partition: TopicPartition) -> None:
        """Wait until what was committed before now is visible in a partition."""
        await self._endings.wait_in(partition)

    def add(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: AbstractSet[TopicPartition],
        version: int,
    ) -> ErrorCode:
        """Add partitions to the transaction at once; who is told of a write waits for `durable` first."""
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST
        transaction = self.find(transactional_id)
        if transaction is None:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
        now_ms = self._clock.now_ms()
        outcome = deciding.add_partitions(transaction, producer, partitions, version, now_ms)
        if isinstance(outcome, ErrorCode):
            return outcome
        try:
            self._take(outcome)
        except HeadwaterError as error:
            return code_after(error)
        return ErrorCode.NONE

    def add_ahead(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: AbstractSet[TopicPartition],
        version: int,
    ) -> ErrorCode:
        """Add partitions for a client that says so before it writes: what it writes waits for the sync.

        Such a client may have one epoch for all its transactions, whatever versions it speaks. After a
        crash a transaction whose Complete is lost gets its markers once more; they would end what follows
        it in the same epoch, so nothing does before Complete is durable.
        """
        added = self.add(transactional_id, producer, partitions, version)
        if added is ErrorCode.NONE:
            synced = self._ahead[transactional_id] = self._journal.durable()
            synced.add_done_callback(partial(self._caught_up, transactional_id))
        return added

    def _caught_up(self, transactional_id: str, synced: asyncio.Future[None]) -> None:
        if self._ahead.get(transactional_id) is synced and not synced.exception():
            del self._ahead[transactional_id]

    def verify(
        self, transactional_id: str, producer: ProducerIdAndEpoch, partition: TopicPartition
    ) -> ErrorCode:
        """Whether the producer may write to the partition now: it was added before."""
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST
        transaction = self.find(transactional_id)
        if transaction is None:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
        ahead = self._ahead.get(transactional_id)
        if ahead is not None and ahead.done() and ahead.exception():
            return ErrorCode.NOT_COORDINATOR  # The log has failed: what was added may get lost.
        return deciding.verify_partition(transaction, producer, partition)

    def refuse_late(
        self,
        channel: str,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        connection: int,
    ) -> None:
        """Raise `Superseded` for a request that was overtaken; for clients older than version 2."""
        transaction = self.find(transactional_id)
        if transaction is not None and transaction.producer == producer:
            self._late.refuse(channel, transactional_id, producer, connection)

    def durable(self) -> Awaitable[ErrorCode]:
        """Begin to make every step taken so far durable; the awaitable is done when it is."""
        return _code_of(result_of(self._journal.durable()))

    async def end(
        self, transactional_id: str, producer: ProducerIdAndEpoch, *, is_commit: bool, version: int
    ) -> Answer:
        """EndTxn: answered once the outcome is durable."""
        if not transactional_id:
            return Answer(ErrorCode.INVALID_REQUEST)
        if self.find(transactional_id) is None:
            return Answer(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        await self.ready(transactional_id)
        try:
            fresh = await self._fresh_id_if_needed(transactional_id)
            transaction = self.find(transactional_id)
            if transaction is None:
                return Answer(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
            asked = Ending(producer, is_commit, version, fresh)
            outcome = deciding.end(transaction, asked, self._clock.now_ms())
            if isinstance(outcome, ErrorCode):
                return Answer(
                    outcome, transaction.producer if outcome is ErrorCode.NONE else NOBODY
                )
            self._take(outcome)
            await self._endings.decide(outcome)
        except HeadwaterError as error:
            return Answer(code_after(error))
        return Answer(ErrorCode.NONE, outcome.completed(0).producer)

    # Steps

    async def _fresh_id_if_needed(self, transactional_id: str) -> int:
        transaction = self.find(transactional_id)
        if transaction is not None and not transaction.is_epoch_exhausted:
            return NO_PRODUCER
        return await self._producer_ids.allocate()

    def _take(self, transaction: Transaction) -> None:
        """Take a step: its record is appended, or nothing has happened and this raises."""
        key = transaction.transactional_id
        before = self._transactions.get(key)
        self._journal.append([encode_transaction(key, transaction)])
        self._transactions[key] = transaction
        if transaction.state is not TransactionState.ONGOING:
            self._cancel_deadline(key)
        elif before is None or before.state is not TransactionState.ONGOING:
            self._set_deadline(transaction, transaction.timeout_ms)

    def _set_deadline(self, transaction: Transaction, left_ms: int) -> None:
        """On the monotonic clock, once for each transaction: the wall clock may jump meanwhile."""
        key = transaction.transactional_id
        deadline = self._due.setdefault(key, Deadline(partial(self._on_due, key)))
        self._deadlines.set(deadline, self._clock.monotonic_s() + left_ms / 1000)

    def _cancel_deadline(self, key: str) -> None:
        if (deadline := self._due.pop(key, None)) is not None:
            self._deadlines.cancel(deadline)

    def _on_due(self, transactional_id: str, _now: Now) -> None:
        transaction = self.find(transactional_id)
        if self._is_closed or transaction is None:
            return
        if transaction.state.is_prepared:
            self._spawn(self._finish_again(transaction))
        elif transaction.state is TransactionState.ONGOING:
            self._spawn(self._time_out(transaction))

    async def _finish_again(self, prepared: Transaction) -> None:
        with contextlib.suppress(HeadwaterError):  # The log has failed: the next start finishes it.
            await self._endings.carry_out(prepared)

    async def _time_out(self, timed_out: Transaction) -> None:
        key = timed_out.transactional_id
        try:
            fresh = await self._fresh_id_if_needed(key)
            transaction = self.find(key)
            if transaction is None or transaction.producer != timed_out.producer:
                return
            if transaction.state is not TransactionState.ONGOING:
                return
            prepared = deciding.fenced(transaction, fresh, self._clock.now_ms())
            self._take(prepared)
            logger.info("transaction timed out", extra={"transactional_id": key})
            await self._endings.carry_out(prepared)
        except HeadwaterError as error:
            self._try_again(key, error)

    def _complete(self, prepared: Transaction) -> None:
        self._take(prepared.completed(self._clock.now_ms()))

    def _try_again(self, key: str, error: HeadwaterError) -> None:
        logger.warning(
            "a transaction could not be ended, it will be tried again: %s",
            error,
            extra={"transactional_id": key},
        )
        deadline = self._due.setdefault(key, Deadline(partial(self._on_due, key)))
        self._deadlines.set(deadline, self._clock.monotonic_s() + RETRY_S)

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _now(self) -> Now:
        return Now(self._clock.monotonic_s(), self._clock.now_ms())


async def _code_of(durable: Awaitable[None]) -> ErrorCode:
    try:
        await durable
    except HeadwaterError as error:
        return code_after(error)
    return ErrorCode.NONE
