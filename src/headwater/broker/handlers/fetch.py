"""Fetch: what each partition holds from an offset on; waits for more by notification, never by polling."""

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from headwater.broker.context import RequestContext
from headwater.broker.fetch_sessions import Followed, Session, TopicKey
from headwater.broker.partition import Partition
from headwater.broker.reading import Reading, at_once, on_threads
from headwater.errors import HeadwaterError
from headwater.log.batch_file import NOTHING, NotCached
from headwater.log.partition import PartitionLog
from headwater.log.stretch import Records, Stretch, next_offset_of
from headwater.wire.encoder import at_hand
from headwater.wire.error_codes import ErrorCode, code_of
from headwater.wire.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)

FIRST_VERSION_WITH_TOPIC_IDS = 13
READ_COMMITTED = 1
LONG_READ_BYTES = 256 << 10
"""So much is read aside while there are producers: the event loop is theirs."""
ANSWER_BESIDE_PRODUCERS_BYTES = 1 << 20
"""An answer is no longer while there are producers: a reader that catches up leaves them the processor."""
COLD_READ_BYTES = 1 << 20
"""From disk no more at once: a producer's sync waits in the same queue."""


@dataclass(slots=True)
class Budget:
    """How many bytes this answer may still take."""

    size: int
    left: int
    is_empty_so_far: bool = True
    has_begun: bool = False
    """Whether it goes out while it is read: then nothing more has to be read before."""

    @property
    def is_nearly_spent(self) -> bool:
        """Whether to look for something that still fits costs more than it brings."""
        return self.left < self.size // 8


def fetch(
    request: FetchRequest, context: RequestContext
) -> FetchResponse | Awaitable[FetchResponse]:
    by_id = context.version >= FIRST_VERSION_WITH_TOPIC_IDS
    session = context.broker.fetch_sessions.enter(request, by_id=by_id)
    if isinstance(session, ErrorCode):
        return FetchResponse(error_code=session)
    answers = _collect_at_once(request, session, context)
    if answers is not None and _is_enough(answers, request, session, context):
        return _respond(answers, session)
    return _fetch_later(answers, request, session, context)


async def _fetch_later(
    answers: "Answers | None", request: FetchRequest, session: Session, context: RequestContext
) -> FetchResponse:
    if answers is None:
        answers = await _collect(request, session, context)
    if not _is_enough(answers, request, session, context):
        answers = await _wait(request, session, context)
    return _respond(answers, session)


Answers = dict[tuple[TopicKey, int], PartitionData]


async def _wait(request: FetchRequest, session: Session, context: RequestContext) -> Answers:
    """Long poll: look again whenever one of the partitions has more, until there is enough."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + request.max_wait_ms / 1000
    news = asyncio.Event()
    partitions = [
        found for key in session.partitions if isinstance(found := _find(key, context), Partition)
    ]
    for each in partitions:
        each.add_reader(news)
        context.broker.committer.hurry(each)
    try:
        while True:
            news.clear()
            answers = await _collect(request, session, context)
            remaining_s = deadline - loop.time()
            if remaining_s <= 0 or _is_enough(answers, request, session, context):
                return answers
            try:
                await asyncio.wait_for(news.wait(), remaining_s)
            except TimeoutError:
                return await _collect(request, session, context)
    finally:
        for each in partitions:
            each.remove_reader(news)


@contextmanager
def _room(request: FetchRequest, session: Session, context: RequestContext) -> Iterator["Budget"]:
    """How long the answer may be; others who are answered meanwhile share the room."""
    partitions = session.partitions.values()
    wanted = sum(max(0, each.request.partition_max_bytes) for each in partitions)
    with context.broker.traffic.room_for_fetch(max(0, min(request.max_bytes, wanted))) as room:
        size = min(request.max_bytes, room)
        if context.broker.committer.has_producers:
            size = min(size, ANSWER_BESIDE_PRODUCERS_BYTES)
        yield Budget(size, left=size)


def _collect_at_once(
    request: FetchRequest, session: Session, context: RequestContext
) -> Answers | None:
    """Look at all partitions; None if that takes a thread, for the disk's or for producers' sake."""
    if context.broker.committer.has_producers:
        return None
    with _room(request, session, context) as budget:
        try:
            return {
                key: at_once(_read(key, each, request.isolation_level, budget, context))
                for key, each in session.partitions.items()
            }
        except NotCached:
            return None


async def _collect(request: FetchRequest, session: Session, context: RequestContext) -> Answers:
    with _room(request, session, context) as budget:
        answers = {}
        # A copy: another request of the same session may change it while this one reads.
        for key, each in list(session.partitions.items()):
            left = budget.left
            reading = _read(key, each, request.isolation_level, budget, context)
            answers[key] = await on_threads(reading, context.broker)
            if left - budget.left >= LONG_READ_BYTES:
                await context.broker.committer.let_producers_by()
        return answers


def _find(key: tuple[TopicKey, int], context: RequestContext) -> Partition | ErrorCode:
    name, index = key
    topics = context.broker.topics
    topic = topics.by_id(name) if isinstance(name, bytes) else topics.get(name)
    if topic is None and isinstance(name, bytes):
        return ErrorCode.UNKNOWN_TOPIC_ID
    partition = topic.partition(index) if topic is not None else None
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if partition is None else partition


def _read(
    key: tuple[TopicKey, int],
    followed: Followed,
    isolation_level: int,
    budget: Budget,
    context: RequestContext,
) -> Reading[PartitionData]:
    asked = followed.request
    found = _find(key, context)
    if isinstance(found, ErrorCode):
        return _error(asked, found)
    context.broker.open_logs.make_room()  # A reader of old segments opens their files.
    if not found.is_open:
        yield _give_way
    try:
        log = found.log
        error = found.check_epoch(asked.current_leader_epoch)
        if error is not ErrorCode.NONE:
            return _error(asked, error)
        is_committed = isolation_level == READ_COMMITTED
        if is_committed:
            log.refuse_uncertain(asked.fetch_offset)
        # Both may move while records are read: an answer tells of no more than was looked at.
        watermark, stable = log.high_watermark, log.last_stable_offset
        limit = stable if is_committed else watermark
        records = yield from _records(found, asked, limit, budget, context)
        aborted = (yield from _aborted(log, records, limit)) if is_committed else None
    except HeadwaterError as failure:
        return _error(asked, code_of(failure))
    return PartitionData(
        partition_index=asked.partition,
        high_watermark=watermark,
        last_stable_offset=stable,
        log_start_offset=log.log_start_offset,
        aborted_transactions=aborted,
        records=records,
    )


def _give_way() -> None:
    """To open a log takes a moment, and a reader may ask for thousands: others have a turn in between."""


def _records(
    partition: Partition, asked: FetchPartition, limit: int, budget: Budget, context: RequestContext
) -> Reading[Records]:
    """Find batches up to the limits; the very first batch of an answer may exceed them (KIP-74)."""
    log = partition.log
    if asked.fetch_offset == log.high_watermark:
        return NOTHING
    allowed = min(asked.partition_max_bytes, budget.left)
    strict = not budget.is_empty_so_far
    if strict and (allowed <= 0 or budget.is_nearly_spent):
        return NOTHING  # The others come first next time.
    offset, size = asked.fetch_offset, max(allowed, 1)
    find = partial(
        log.find, offset, size, limit, cached=True, strict=strict, unread=budget.has_begun
    )
    try:
        is_aside = size >= LONG_READ_BYTES and context.broker.committer.has_producers
        records: Records = (yield find) if is_aside else find()
    except NotCached:
        records = yield partial(log.find, offset, min(size, COLD_READ_BYTES), limit)
        if len(records) > allowed and strict:
            return NOTHING
    if records:
        budget.left -= len(records)
        budget.is_empty_so_far = False
        budget.has_begun = budget.has_begun or isinstance(records, Stretch)
    return records


def _aborted(log: PartitionLog, records: Records, limit: int) -> Reading[list[AbortedTransaction]]:
    """Tell which transactions in these records the reader must leave out."""
    try:
        found = log.aborted_in(records, limit, cached=True)
    except NotCached:
        found = yield partial(log.aborted_in, records, limit)
    return [
        AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset)
        for each in found
    ]


def _error(asked: FetchPartition, error: ErrorCode) -> PartitionData:
    return PartitionData(
        partition_index=asked.partition, error_code=error, high_watermark=-1, records=b""
    )


def _is_enough(
    answers: Answers, request: FetchRequest, session: Session, context: RequestContext
) -> bool:
    """An error is told at once; otherwise there must be `min_bytes` of records, if the reader can wait.

    As Kafka counts: what a limit holds back is there, and a reader of older segments never waits.
    """
    if request.max_wait_ms <= 0 or not answers:
        return True
    if any(each.error_code for each in answers.values()):
        return True
    total = sum(len(each.records) for each in answers.values() if each.records is not None)
    if total >= request.min_bytes:
        return True
    available = 0
    for key, answer in answers.items():
        followed, partition = session.partitions.get(key), _find(key, context)
        if followed is None or not isinstance(partition, Partition):
            continue
        records = _records_of(answer)
        is_committed = request.isolation_level == READ_COMMITTED
        limit = answer.last_stable_offset if is_committed else answer.high_watermark
        if next_offset_of(records, followed.request.fetch_offset) >= limit:
            available += len(records)
        elif followed.request.fetch_offset < partition.log.active.base_offset:
            return True
        else:
            available += followed.request.partition_max_bytes
    return available >= request.min_bytes


def _records_of(answer: PartitionData) -> Records:
    records = answer.records or NOTHING
    return records if isinstance(records, Stretch) else memoryview(at_hand(records))


def _respond(answers: Answers, session: Session) -> FetchResponse:
    topics: dict[TopicKey, list[PartitionData]] = {}
    for (topic, index), answer in answers.items():
        followed = session.partitions.get((topic, index))
        if followed is None:
            continue
        is_news = followed.is_news(answer)
        if answer.records:
            # To the end of the queue: the limits of the next answer must not starve the others.
            session.partitions[topic, index] = session.partitions.pop((topic, index))
        if is_news or not session.is_incremental:
            topics.setdefault(topic, []).append(answer)
    return FetchResponse(
        session_id=session.id,
        responses=[
            FetchableTopicResponse(topic_id=topic, partitions=partitions)
            if isinstance(topic, bytes)
            else FetchableTopicResponse(topic=topic, partitions=partitions)
            for topic, partitions in topics.items()
        ],
    )
