"""Produce: append each partition's batch, answer once it is as durable as `acks` asks for.

The appends happen before this function returns, in the order requests arrive; only the wait for the sync
is asynchronous, so that one connection's requests share syncs.
"""

import asyncio
from collections.abc import Awaitable, Mapping

from headwater.broker.context import RequestContext
from headwater.broker.groups.records import TopicPartition
from headwater.broker.partition import Partition
from headwater.broker.shared_futures import result_of
from headwater.broker.topics import Topic
from headwater.broker.transactions.producing import (
    FIRST_VERSION_THAT_ADDS,
    admit_batches,
    transaction_version,
)
from headwater.errors import (
    HeadwaterError,
    InvalidRecord,
    InvalidRequest,
    UnsupportedCodec,
)
from headwater.log.partition import Appended
from headwater.wire.compression import ZSTD
from headwater.wire.error_codes import ErrorCode, code_of
from headwater.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from headwater.wire.record_batch import HEADER_SIZE, BatchHeader, read_header

ALL = -1
FIRST_VERSION_WITH_TOPIC_IDS = 13
FIRST_VERSION_WITH_ZSTD = 7

Waiting = list[tuple[asyncio.Future[None], PartitionProduceResponse]]
Codes = Mapping[TopicPartition, ErrorCode]
"""What the transaction coordinator says to each transactional batch."""


def produce(
    request: ProduceRequest, context: RequestContext
) -> ProduceResponse | Awaitable[ProduceResponse | None] | None:
    waiting: Waiting = []
    codes = _transactional(request, context)
    responses = [
        TopicProduceResponse(
            name=topic.name,
            topic_id=topic.topic_id,
            partition_responses=[
                _produce(request.acks, each, _topic_of(topic, context), codes, waiting, context)
                for each in topic.partition_data
            ],
        )
        for topic in request.topic_data
    ]
    # Begun in this turn: the batches and the transaction's own step are synced side by side. Older clients
    # have taken that step before, and what they write waits for it (`refuse_early`).
    is_step = bool(codes) and context.version >= FIRST_VERSION_THAT_ADDS
    added = context.broker.transactions.durable() if is_step else None
    response = ProduceResponse(responses=responses)
    if request.acks == 0:
        if added is not None:
            context.broker.run_in_background(_ignore(added))
        _hang_up_on_errors(responses)
        return None
    if added is not None:
        return _when_in_transaction(added, waiting, response)
    return _when_durable(waiting, response) if waiting else response


def _transactional(request: ProduceRequest, context: RequestContext) -> Codes:
    """Ask the coordinator about the transactional batches of a request, all at once."""
    if request.transactional_id is None:
        return {}
    batches: dict[TopicPartition, BatchHeader] = {}
    for data in request.topic_data:
        topic = _topic_of(data, context)
        for each in data.partition_data:
            records = each.records
            is_open = topic is not None and topic.partition(each.index) and not topic.is_internal
            if topic is None or not is_open or not isinstance(records, memoryview):
                continue
            if len(records) < HEADER_SIZE:
                continue
            header = read_header(records)
            place = TopicPartition(topic.name, each.index)
            if place in batches:
                raise InvalidRequest(f"{place} comes twice in one request of a transaction")
            if header.is_transactional:
                batches[place] = header
    if not batches:
        return {}
    return admit_batches(
        context.broker.transactions,
        request.transactional_id,
        batches,
        version=context.version,
        connection=context.connection,
    )


def _hang_up_on_errors(responses: list[TopicProduceResponse]) -> None:
    """With acks=0 there is no answer to put an error in: closing the connection is the sign."""
    for topic in responses:
        for each in topic.partition_responses:
            if each.error_code != ErrorCode.NONE:
                raise InvalidRequest(f"an acks=0 batch was refused with error {each.error_code}")


async def _ignore(added: Awaitable[ErrorCode]) -> None:
    await added


async def _when_in_transaction(
    added: Awaitable[ErrorCode], waiting: Waiting, response: ProduceResponse
) -> ProduceResponse:
    """Answer once the batches are durable, and the coordinator's knowledge of them too."""
    code = await added
    if code is not ErrorCode.NONE:
        for topic in response.responses:
            for each in topic.partition_responses:
                each.error_code, each.base_offset = ErrorCode.NOT_ENOUGH_REPLICAS, -1
    return await _when_durable(waiting, response)


async def _when_durable(waiting: Waiting, response: ProduceResponse) -> ProduceResponse:
    for future, partition in waiting:
        try:
            await result_of(future)
        except HeadwaterError as error:
            _refuse(partition, error)
    return response


def _topic_of(topic: TopicProduceData, context: RequestContext) -> Topic | None:
    topics = context.broker.topics
    if context.version >= FIRST_VERSION_WITH_TOPIC_IDS:
        return topics.by_id(topic.topic_id)
    return topics.get(topic.name)


def _produce(
    acks: int,
    data: PartitionProduceData,
    topic: Topic | None,
    codes: Codes,
    waiting: Waiting,
    context: RequestContext,
) -> PartitionProduceResponse:
    response = PartitionProduceResponse(index=data.index)
    if acks not in (ALL, 0, 1):
        response.error_code, response.base_offset = ErrorCode.INVALID_REQUIRED_ACKS, -1
        return response
    if topic is None and context.version >= FIRST_VERSION_WITH_TOPIC_IDS:
        response.error_code, response.base_offset = ErrorCode.UNKNOWN_TOPIC_ID, -1
        return response
    partition = topic.partition(data.index) if topic is not None else None
    if topic is None or partition is None:
        response.error_code, response.base_offset = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1
        return response
    if topic.is_internal:
        response.error_code, response.base_offset = ErrorCode.INVALID_TOPIC_EXCEPTION, -1
        return response
    code = codes.get(TopicPartition(topic.name, data.index)) if codes else None
    if code:
        response.error_code, response.base_offset = code, -1
        return response
    in_transaction = None if code is None else transaction_version(context.version)
    try:
        appended = _append(data, partition, context.version, in_transaction)
    except HeadwaterError as error:
        _refuse(response, error)
        return response
    response.base_offset = appended.base_offset
    response.log_append_time_ms = appended.append_time_ms
    response.log_start_offset = partition.log.log_start_offset
    _commit(acks, partition, appended, response, waiting, context)
    return response


def _append(
    data: PartitionProduceData, partition: Partition, version: int, in_transaction: int | None
) -> Appended:
    records = data.records
    if not isinstance(records, memoryview) or not records:
        raise InvalidRecord("a produce request carries one batch per partition, this has none")
    is_old = version < FIRST_VERSION_WITH_ZSTD and len(records) >= HEADER_SIZE
    if is_old and read_header(records).codec == ZSTD:
        raise UnsupportedCodec("zstd needs Produce version 7 or later")
    return partition.log.append(records, transaction_version=in_transaction)


def _commit(
    acks: int,
    partition: Partition,
    appended: Appended,
    response: PartitionProduceResponse,
    waiting: Waiting,
    context: RequestContext,
) -> None:
    if appended.last_offset < partition.log.high_watermark:
        return
    committer = context.broker.committer
    if acks == ALL:
        waiting.append((committer.commit(partition), response))
    else:
        committer.commit_soon(partition)


def _refuse(response: PartitionProduceResponse, error: BaseException) -> None:
    response.error_code = code_of(error)
    response.error_message = str(error)
    response.base_offset = -1
    response.log_append_time_ms = -1
    response.log_start_offset = -1
    if isinstance(error, InvalidRecord) and error.indexes:
        response.record_errors = [
            BatchIndexAndErrorMessage(batch_index=each, batch_index_error_message=error.what)
            for each in error.indexes
        ]
