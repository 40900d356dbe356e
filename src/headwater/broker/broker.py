"""The broker: everything a handler may use, and the order in which it starts and stops."""

import asyncio
import errno
import logging
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

from headwater.broker import metadata_log, offsets_topic, transactions_topic
from headwater.broker.committer import Committer
from headwater.broker.data_directory import DataDirectory
from headwater.broker.fetch_sessions import FetchSessions
from headwater.broker.groups.coordinator import Groups
from headwater.broker.groups.settings import GroupSettings
from headwater.broker.housekeeping import Housekeeping
from headwater.broker.metadata_log import MetadataLog
from headwater.broker.offsets_topic import OffsetsJournal
from headwater.broker.open_logs import OpenLogs
from headwater.broker.partition import Partition
from headwater.broker.producer_ids import ProducerIds
from headwater.broker.replay import replay, replay_batches
from headwater.broker.setting_checks import refuse_unusable
from headwater.broker.topics import Topic, TopicRecord, Topics
from headwater.broker.traffic import Traffic
from headwater.broker.transactions.coordinator import Transactions
from headwater.broker.transactions.markers import PartitionMarkers
from headwater.broker.transactions.orphans import settle_orphans
from headwater.broker.transactions.settings import TransactionSettings
from headwater.broker.transactions_topic import TransactionsJournal
from headwater.clock import Clock
from headwater.config import BrokerSettings
from headwater.errors import HeadwaterError, StorageFailed
from headwater.log.disk import Disk
from headwater.log.partition import PartitionLog
from headwater.log.recovery import Summary
from headwater.log.settings import UNLIMITED, LogSettings
from headwater.wire.markers import decode_marker
from headwater.wire.record_batch import NO_PRODUCER
from headwater.wire.records import decode_batch

logger = logging.getLogger(__name__)

READ_THREADS: Final = 4
NODE_ID: Final = 1
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Node:
    """This broker as clients address it."""

    node_id: int
    host: str
    port: int


class Broker:
    """State and services of one broker; the server in front of it only moves bytes."""

    reserved_topics: Final = frozenset({metadata_log.NAME})

    def __init__(self, settings: BrokerSettings, disk: Disk, clock: Clock) -> None:
        refuse_unusable(settings)
        self.settings = settings
        self.clock = clock
        self.node = Node(NODE_ID, "127.0.0.1", 0)
        self.api_versions: dict[int, range] = {}
        self.directory = Path(settings.data).absolute()
        self.traffic = Traffic(settings.fetch_memory_bytes)
        self.fetch_sessions = FetchSessions()
        self.committer = Committer(settings.flush_ms)
        self.disk = disk
        self.open_logs = OpenLogs(disk, self.traffic)
        self._data = DataDirectory(disk, self.directory)
        self._threads = ThreadPoolExecutor(READ_THREADS, thread_name_prefix="read")
        self._background: set[asyncio.Task[None]] = set()
        self._unrecovered: list[Partition] = []
        self._housekeeping = Housekeeping(self)

    async def start(self) -> None:
        """Take the data directory, recover what is in it, and begin to serve."""
        self._data.lock()
        try:
            await self._load()
        except OSError as error:
            self._data.unlock()
            raise StorageFailed(
                f"cannot start on {error.filename or self.directory}: {error.strerror or error}",
                hint="check the disk, its free space, and whether you may use what is there",
            ) from error
        except BaseException:
            self._data.unlock()
            raise

    async def stop(self) -> None:
        """Make everything durable and leave a mark, so that the next start is fast."""
        self._housekeeping.stop()
        await self.transactions.close()
        await self.groups.close()
        for each in list(self._background):
            each.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await self.committer.stop()
        self._threads.shutdown()
        try:
            self._refuse_if_unrecovered()
            summaries = self.topics.close()
            metadata = self.metadata.partition.close()
            if metadata is not None:
                summaries[metadata_log.NAME] = metadata
            self._data.write_summaries(summaries)
        except (OSError, StorageFailed):
            logger.exception("not a clean shutdown: the next start will look at every log")
        self._data.unlock()

    def abandon(self) -> None:
        """Let go as a crash would: nothing is finished and nothing is marked."""
        self._housekeeping.stop()
        self.committer.abandon()
        self._threads.shutdown(cancel_futures=True)
        self._data.unlock()

    async def catch_up_with_the_clock(self) -> None:
        """Do all that has fallen due: time was moved by hand, and nobody waited for it to pass."""
        self.groups.tick()
        self.transactions.tick()
        await self._housekeeping.do_all()

    async def delete_topic(self, topic: Topic) -> None:
        """Delete a topic; the files are removed behind the scenes."""
        try:
            await self.topics.mark_deleted(topic)
        finally:
            if self.topics.get(topic.name) is not topic:
                self.run_in_background(self._finish_deletion(topic.name))

    async def read_on_thread(
        self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run something that waits for the disk, without stopping everyone else."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, partial(function, *args, **kwargs))

    def run_in_background(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background_done)

    def _background_done(self, task: "asyncio.Task[None]") -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("background work failed", exc_info=error)

    async def _load(self) -> None:
        self.cluster_id = self._data.cluster_id()
        summaries = self._data.take_summaries()
        self.committer.start()
        self.metadata = MetadataLog(self._metadata_partition(summaries), self.committer)
        self.metadata.load()
        self.metadata.refuse_if_lost()
        self.producer_ids = ProducerIds(self.metadata)
        self.topics = Topics(
            self.open_logs,
            self.clock,
            self.directory,
            self.metadata,
            self.settings.topic_defaults,
            self._forget_offsets,
        )
        records = {name: TopicRecord(**each) for name, each in self.metadata.topics().items()}
        unfinished = self.topics.load(records, summaries)
        for name in unfinished:
            self.topics.set_aside_files(name)
        if summaries is None:
            await self._recover()
        await self._load_groups()
        for name in unfinished:
            await self._finish_deletion(name)
        await self._load_transactions()
        if summaries is None:
            await settle_orphans(self.topics, self.transactions, self.markers)
        self._housekeeping.start()

    def _metadata_partition(self, summaries: dict[str, Summary] | None) -> Partition:
        settings = LogSettings(
            is_compacted=True, is_deleted=False, retention_ms=UNLIMITED, segment_bytes=16 << 20
        )

        def opener(summary: Summary | None) -> PartitionLog:
            directory = self.directory / f"{metadata_log.NAME}-0"
            return PartitionLog.open(self.disk, directory, settings, self.clock, summary=summary)

        summary = summaries.pop(metadata_log.NAME, None) if summaries is not None else None
        return Partition(metadata_log.NAME, 0, opener, summary)

    async def _recover(self) -> None:
        """After a crash: look at every log before any client does."""
        partitions = [each for topic in self.topics for each in topic.partitions]
        recovered = 0
        for each in partitions:
            try:
                log = await self.read_on_thread(each.opened)
            except HeadwaterError as error:
                if _is_for_want_of_files(error):
                    raise  # All would suffer from that, connections too.
                # It concerns whoever uses this one, as after a clean shutdown.
                logger.warning("%s could not be recovered: %s", each.name, error)
                self._unrecovered.append(each)
            else:
                recovered += bool(log.segments)
        if recovered:
            logger.info("recovered after an unclean shutdown", extra={"partitions": recovered})

    def _refuse_if_unrecovered(self) -> None:
        """Raise `StorageFailed` if nobody knows what a partition holds: it would count as empty."""
        for each in self._unrecovered:
            if not each.is_known:
                raise StorageFailed(f"{each.name} could not be recovered")

    async def _load_groups(self) -> None:
        partition = await self._internal_partition(offsets_topic.NAME, offsets_topic.CONFIGS)
        journal = OffsetsJournal(partition, self.committer)
        self.groups = Groups(self.clock, journal, group_settings(self.settings))
        # Offsets in a damaged batch are lost, earlier ones of the same group count again.
        for header, batch in replay_batches(partition.log, past_damage=True):
            if header.is_control:
                if (marker := decode_marker(batch)) is not None:
                    self.groups.replay_end(header.producer_id, is_commit=marker.is_commit)
                continue
            producer_id = header.producer_id if header.is_transactional else NO_PRODUCER
            for record in decode_batch(batch):
                key = record.key or b""
                self.groups.replay(key, record.value, offset=record.offset, producer_id=producer_id)
        self.groups.loaded()
        self.run_in_background(self.groups.run())

    async def _load_transactions(self) -> None:
        name = transactions_topic.NAME
        partition = await self._internal_partition(name, transactions_topic.CONFIGS)
        self.markers = PartitionMarkers(self.topics, self.groups, self.committer)
        self.markers.coordinator_epoch = partition.log.leader_epoch
        self.transactions = Transactions(
            self.clock,
            TransactionsJournal(partition, self.committer),
            self.markers,
            self.producer_ids,
            transaction_settings(self.settings),
        )
        # What was answered has its markers, so that a damaged batch cannot change an outcome.
        for record in replay(partition.log, past_damage=True):
            self.transactions.replay(record.key or b"", record.value)
        await self.transactions.resume()
        self.run_in_background(self.transactions.run())

    async def _internal_partition(self, name: str, configs: Mapping[str, str]) -> Partition:
        topic = self.topics.get(name)
        if topic is None:
            topic = await self.topics.create(name, 1, configs)
        return topic.partitions[0]

    async def _forget_offsets(self, topic: str) -> None:
        await self.groups.forget_topic(topic)

    async def _finish_deletion(self, name: str) -> None:
        await self.read_on_thread(self.topics.remove_deleted_files)
        await self.topics.finish_deletion(name)


def _is_for_want_of_files(error: HeadwaterError) -> bool:
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno in (errno.EMFILE, errno.ENFILE)


def group_settings(settings: BrokerSettings) -> GroupSettings:
    return GroupSettings(
        min_session_timeout_ms=settings.group_min_session_timeout_ms,
        max_session_timeout_ms=settings.group_max_session_timeout_ms,
        initial_rebalance_delay_ms=settings.group_initial_rebalance_delay_ms,
        max_size=settings.group_max_size,
        offset_metadata_max_bytes=settings.offset_metadata_max_bytes,
        offsets_retention_ms=settings.offsets_retention_minutes * 60_000,
    )


def transaction_settings(settings: BrokerSettings) -> TransactionSettings:
    return TransactionSettings(
        max_timeout_ms=settings.transaction_max_timeout_ms,
        id_expiration_ms=settings.transactional_id_expiration_ms,
    )
