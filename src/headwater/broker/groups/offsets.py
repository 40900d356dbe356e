"""Committed offsets as requests see them: commit, read, delete, expire.

Invariant: an offset is answered for, and can be read, after its record is durable.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from headwater.broker.deadlines import Now
from headwater.broker.groups.committing import Committer, check_commit, expired_offsets
from headwater.broker.groups.group import Group, GroupState
from headwater.broker.groups.journal import Entry, Ledger, TransactionEnd, code_after
from headwater.broker.groups.offset_table import OffsetTable
from headwater.broker.groups.pending_offsets import PendingOffset
from headwater.broker.groups.pieces import PIECE_BYTES, cut, size_of
from headwater.broker.groups.records import (
    CommittedOffset,
    OffsetRecord,
    TopicPartition,
    encode_offset,
)
from headwater.broker.groups.registry import Registry
from headwater.broker.groups.removal import Removal
from headwater.broker.groups.subscription import CONSUMER_PROTOCOL_TYPE
from headwater.errors import HeadwaterError
from headwater.wire.error_codes import ErrorCode
from headwater.wire.record_batch import NO_PRODUCER, NOBODY, ProducerIdAndEpoch


class Offsets:
    """The offsets of all groups."""

    def __init__(self, registry: Registry, ledger: Ledger, now: Callable[[], Now]) -> None:
        self._registry = registry
        self._ledger = ledger
        self._now = now
        self._table = OffsetTable()

    def of(self, group_id: str) -> Mapping[TopicPartition, CommittedOffset]:
        """All durable offsets of a group; empty for a group that is not known."""
        return self._table.of(group_id)

    def pending(self, group_id: str) -> set[TopicPartition]:
        """Partitions whose offset may change by a transaction that has not ended."""
        return self._table.pending.of(group_id)

    def replay(self, record: OffsetRecord, offset: int, producer_id: int) -> None:
        if record.value is None:
            self._table.discard(record.group_id, [record.partition])
            return
        committed = replace(record.value, log_offset=offset)
        if producer_id == NO_PRODUCER:
            self._table.put(record.group_id, record.partition, committed)
        else:
            pending = PendingOffset(record.group_id, record.partition, committed)
            self._table.pending.put(producer_id, pending)

    def replay_end(self, producer_id: int, *, is_commit: bool) -> None:
        self._table.end_transaction(producer_id, is_commit=is_commit)

    def loaded(self) -> None:
        """Make a group for offsets whose group had no members: a simple consumer's."""
        for group_id in self._table.group_ids():
            self._registry.find_or_create(group_id)

    async def commit(
        self,
        committer: Committer,
        offsets: Mapping[TopicPartition, CommittedOffset],
        producer: ProducerIdAndEpoch = NOBODY,
    ) -> dict[TopicPartition, ErrorCode]:
        """Commit offsets; those answered with NONE are durable and visible.

        With a producer they are part of its transaction: durable, and visible once that is committed.
        GROUP_ID_NOT_FOUND: the committer takes itself for a member of a group that does not exist.
        """
        group = self._registry.find(committer.group_id)
        if group is None:
            if committer.generation >= 0:
                return dict.fromkeys(offsets, ErrorCode.GROUP_ID_NOT_FOUND)
            group = self._registry.find_or_create(committer.group_id)
        refusal = check_commit(group, committer, is_transactional=producer != NOBODY)
        if refusal:
            return dict.fromkeys(offsets, refusal)
        member = group.roster.get(committer.member_id)
        if member is not None:
            group.keep_alive(member, self._now().s)
        limit = self._registry.settings.offset_metadata_max_bytes
        accepted = {each: new for each, new in offsets.items() if len(new.metadata) <= limit}
        written = code_after(await self._write(group.id, accepted, producer))
        too_large = ErrorCode.OFFSET_METADATA_TOO_LARGE
        return {each: written if each in accepted else too_large for each in offsets}

    async def end_transaction(
        self, producer: ProducerIdAndEpoch, end: TransactionEnd
    ) -> HeadwaterError | None:
        """Write the end of a producer's transaction; once it is durable, its offsets count or are gone."""

        def settled(error: HeadwaterError | None) -> None:
            if error is None:
                groups = self._table.end_transaction(producer.id, is_commit=end.is_commit)
                for group_id in groups:
                    self._registry.find_or_create(group_id)

        return await self._ledger.written(Entry(producer=producer, end=end), settled)

    async def delete(
        self, group_id: str, partitions: Sequence[TopicPartition]
    ) -> tuple[ErrorCode, dict[TopicPartition, ErrorCode]]:
        """Delete offsets of topics that no live member consumes."""
        group = self._registry.find(group_id)
        if group is None or group.state is GroupState.DEAD:
            return ErrorCode.GROUP_ID_NOT_FOUND, {}
        if group.state is not GroupState.EMPTY and group.protocol_type != CONSUMER_PROTOCOL_TYPE:
            return ErrorCode.NON_EMPTY_GROUP, {}
        consumed = [each for each in partitions if group.is_subscribed_to(each.topic)]
        error = await self._remove({group_id: set(partitions).difference(consumed)})
        if error is not None:
            return code_after(error), {}
        codes = dict.fromkeys(partitions, ErrorCode.NONE)
        return ErrorCode.NONE, codes | dict.fromkeys(consumed, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)

    async def delete_group(self, group_id: str) -> ErrorCode:
        """Delete an empty group with all its offsets."""
        group = self._registry.find(group_id)
        if group is None or group.state is GroupState.DEAD:
            return ErrorCode.GROUP_ID_NOT_FOUND
        if group.state is not GroupState.EMPTY:
            return ErrorCode.NON_EMPTY_GROUP
        return code_after(await self._remove({group_id: self._table.in_log(group_id)}, [group]))

    async def forget_topic(self, topic: str) -> None:
        """Delete all groups' offsets of a topic that is gone; raises if that is not durable."""
        gone = {
            group.id: {each for each in self._table.in_log(group.id) if each.topic == topic}
            for group in self._registry
        }
        error = await self._remove(gone)
        if error is not None:
            raise error

    async def expire(self, now_ms: int) -> int:
        """Delete offsets past their retention, and groups left with nothing.

        Returns how many offsets; raises if that is not durable.
        """
        expired = {group.id: self._expired_of(group, now_ms) for group in self._registry}
        finished = [
            group
            for group in self._registry
            if group.state is GroupState.EMPTY
            and not group.roster.pending
            and self._table.in_log(group.id) == expired[group.id]
        ]
        error = await self._remove(expired, finished)
        if error is not None:
            raise error
        return sum(len(each) for each in expired.values())

    def _expired_of(self, group: Group, now_ms: int) -> set[TopicPartition]:
        retention_ms = self._registry.settings.offsets_retention_ms
        due = expired_offsets(group, self._table.of(group.id), retention_ms, now_ms)
        return set(due) - self._table.unsettled(group.id) - self._table.pending.of(group.id)

    async def _write(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, CommittedOffset],
        producer: ProducerIdAndEpoch,
    ) -> HeadwaterError | None:
        if not offsets:
            return None
        entry = Entry([encode_offset(group_id, *each) for each in offsets.items()], producer)

        def settled(error: HeadwaterError | None) -> None:
            self._table.settle(group_id, offsets)
            if error is None:
                for position, (partition, new) in enumerate(offsets.items(), entry.base_offset):
                    committed = replace(new, log_offset=position)
                    if producer == NOBODY:
                        self._table.put(group_id, partition, committed)
                    else:
                        pending = PendingOffset(group_id, partition, committed)
                        self._table.pending.put(producer.id, pending)

        self._table.begin(group_id, offsets)
        return await self._ledger.written(entry, settled)

    async def _remove(
        self, offsets: Mapping[str, Iterable[TopicPartition]], groups: Sequence[Group] = ()
    ) -> HeadwaterError | None:
        """Remove offsets, and groups that have nothing else, each once that is durable.

        All is queued before anyone else can write; groups come last, so that no offset loses its group.
        """
        removals = [
            Removal.of_offset(group_id, each)
            for group_id, partitions in offsets.items()
            for each in self._table.in_log(group_id).intersection(partitions)
        ]
        removals += [Removal.of_group(group.id) for group in groups]
        writes = [
            self._ledger.begin(
                Entry([each.record for each in piece]), partial(self._removed, piece)
            )
            for piece in cut(removals, lambda each: size_of(each.record), PIECE_BYTES)
        ]
        errors = [await each for each in writes]
        return next((each for each in errors if each is not None), None)

    def _removed(self, removals: Iterable[Removal], error: HeadwaterError | None) -> None:
        if error is not None:
            return
        for _, group_id, partition in removals:
            if partition is not None:
                self._table.discard(group_id, [partition])
            else:
                self._remove_if_unused(group_id)

    def _remove_if_unused(self, group_id: str) -> None:
        """Let a group go, unless someone has joined it or committed since it was to be removed."""
        group = self._registry.find(group_id)
        if group is None or group.state is not GroupState.EMPTY:
            return
        if not self._table.in_log(group_id):
            group.close(self._now(), ErrorCode.COORDINATOR_NOT_AVAILABLE)
            self._registry.remove(group_id)
