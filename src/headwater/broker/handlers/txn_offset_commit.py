"""TxnOffsetCommit: offsets of a group that count if the transaction is committed.

Since version 5 the request adds the group to the transaction; before, AddOffsetsToTxn has done so.
"""

from headwater.broker.context import RequestContext
from headwater.broker.groups.committing import Committer
from headwater.broker.groups.records import CommittedOffset, TopicPartition
from headwater.broker.transactions.markers import OFFSETS
from headwater.broker.transactions.transaction import BUMPS_EPOCHS
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from headwater.wire.record_batch import ProducerIdAndEpoch

FIRST_VERSION_THAT_ADDS = 5
FIRST_VERSION_WITH_ABORTABLE = 4
CHANNEL = "offsets"


async def txn_offset_commit(
    request: TxnOffsetCommitRequest, context: RequestContext
) -> TxnOffsetCommitResponse:
    await context.broker.transactions.ready_to_write(request.transactional_id)
    offsets = _offsets(request, context)
    codes: dict[TopicPartition, ErrorCode] = {}
    if offsets:
        producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
        refusal = _refusal(request, producer, context)
        if refusal:
            codes = dict.fromkeys(offsets, refusal)
        else:
            # Nothing may come between the coordinator's word and the write, so both are waited for after.
            added = context.broker.transactions.durable()
            codes = await _commit(request, producer, offsets, context)
            failure = await added
            codes = dict.fromkeys(offsets, failure) if failure else codes
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=each.partition_index,
                        error_code=codes.get(
                            TopicPartition(topic.name, each.partition_index),
                            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                        ),
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _offsets(
    request: TxnOffsetCommitRequest, context: RequestContext
) -> dict[TopicPartition, CommittedOffset]:
    now_ms = context.broker.groups.clock.now_ms()
    return {
        TopicPartition(topic.name, each.partition_index): CommittedOffset(
            offset=each.committed_offset,
            leader_epoch=each.committed_leader_epoch,
            metadata=each.committed_metadata or "",
            committed_at_ms=now_ms,
        )
        for topic in request.topics
        for each in topic.partitions
        if context.broker.topics.topic_has_partition(topic.name, each.partition_index)
    }


def _refusal(
    request: TxnOffsetCommitRequest, producer: ProducerIdAndEpoch, context: RequestContext
) -> ErrorCode:
    """Whether the coordinator lets the transaction commit offsets; adds the group since version 5."""
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    transactions, partition = context.broker.transactions, OFFSETS
    key = request.transactional_id
    if context.version >= FIRST_VERSION_THAT_ADDS:
        code = transactions.add(key, producer, {partition}, BUMPS_EPOCHS)
    else:
        transactions.refuse_late(CHANNEL, key, producer, context.connection)
        code = transactions.verify(key, producer, partition)
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.TRANSACTION_ABORTABLE and context.version < FIRST_VERSION_WITH_ABORTABLE:
        return ErrorCode.INVALID_TXN_STATE
    return code


async def _commit(
    request: TxnOffsetCommitRequest,
    producer: ProducerIdAndEpoch,
    offsets: dict[TopicPartition, CommittedOffset],
    context: RequestContext,
) -> dict[TopicPartition, ErrorCode]:
    committer = Committer(
        group_id=request.group_id,
        generation=request.generation_id,
        member_id=request.member_id,
        instance_id=request.group_instance_id,
    )
    codes = await context.broker.groups.offsets.commit(committer, offsets, producer)
    unknown = ErrorCode.GROUP_ID_NOT_FOUND
    return {
        each: ErrorCode.ILLEGAL_GENERATION if code is unknown else code
        for each, code in codes.items()
    }
