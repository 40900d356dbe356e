"""Topics and their partitions, durable through the cluster metadata log.

Invariant: a topic exists for clients only after its record is synced. A deleted topic first gets a durable
mark, then loses the offsets of groups, its files and its record: a crash in between finishes the deletion
at the next start. Its name is free once the offsets are gone: no other topic may inherit them.
"""

import asyncio
import re
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from headwater.broker.metadata_log import MetadataLog
from headwater.broker.open_logs import OpenLogs
from headwater.broker.partition import Partition
from headwater.broker.topic_configs import log_settings
from headwater.clock import Clock
from headwater.errors import Conflict, Corruption, InvalidRequest, NotFound
from headwater.log.disk import Disk
from headwater.log.partition import PartitionLog
from headwater.log.recovery import Summary
from headwater.log.settings import LogSettings
from headwater.log.state import read_state

INTERNAL: Final = frozenset({"__consumer_offsets", "__transaction_state"})
LONGEST_NAME: Final = 249
MOST_PARTITIONS: Final = 10_000
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """What the metadata log says of a topic."""

    id: str
    partitions: int
    configs: Mapping[str, str] = field(default_factory=dict)
    is_deleting: bool = False


class Topic:
    """A topic that clients can see."""

    def __init__(self, name: str, record: TopicRecord) -> None:
        self.name = name
        self.record = record
        self.id = bytes.fromhex(record.id)
        self.partitions: list[Partition] = []
        self.encoded: dict[tuple[int, int], bytes] = {}
        """Metadata of this topic as it was last sent, by version and authorized operations."""

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL

    @property
    def configs(self) -> Mapping[str, str]:
        return self.record.configs

    def partition(self, index: int) -> Partition | None:
        return self.partitions[index] if 0 <= index < len(self.partitions) else None


class Topics:
    """All topics, by name and by id."""

    def __init__(
        self,
        open_logs: OpenLogs,
        clock: Clock,
        directory: Path,
        metadata: MetadataLog,
        defaults: Mapping[str, str],
        forget_offsets: Callable[[str], Awaitable[None]],
    ) -> None:
        self._disk = open_logs.disk
        self._clock = clock
        self._directory = directory
        self._metadata = metadata
        self._summaries: dict[str, Summary] = {}
        self._is_clean = False
        self.defaults = defaults
        self._forget_offsets = forget_offsets
        self._remembered: set[str] = set()
        """Deleted topics in which groups may still have offsets."""
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[bytes, Topic] = {}
        self._changing = asyncio.Lock()
        self._open_logs = open_logs

    def __iter__(self) -> Iterator[Topic]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def get(self, name: str) -> Topic | None:
        return self._by_name.get(name)

    def by_id(self, topic_id: bytes) -> Topic | None:
        return self._by_id.get(topic_id)

    def refuse_collision(self, name: str) -> None:
        """Raise `InvalidRequest` if a topic's name differs only in '.' and '_': Kafka refuses twins."""
        folded = name.replace(".", "_")
        if folded == name and "_" not in name:
            return
        for each in self._by_name:
            if each.replace(".", "_") == folded:
                raise InvalidRequest(f"Topic '{name}' collides with existing topic: {each}")

    def topic_has_partition(self, topic: str, partition: int) -> bool:
        found = self._by_name.get(topic)
        return found is not None and found.partition(partition) is not None

    def topic_name_of(self, topic_id: bytes) -> str | None:
        found = self._by_id.get(topic_id)
        return found.name if found is not None else None

    def topic_id_of(self, name: str) -> bytes:
        found = self._by_name.get(name)
        return found.id if found is not None else bytes(16)

    def load(
        self, records: Mapping[str, TopicRecord], summaries: Mapping[str, Summary] | None
    ) -> list[str]:
        """Take over what the metadata log holds; returns the topics whose deletion must be finished."""
        self._is_clean = summaries is not None
        self._summaries = dict(summaries or {})
        for name, record in records.items():
            if not record.is_deleting:
                self._add(name, record)
        self._remembered = {name for name, record in records.items() if record.is_deleting}
        return sorted(self._remembered)

    async def create(self, name: str, partitions: int, configs: Mapping[str, str]) -> Topic:
        """Create a topic; it is durable when this returns.

        Raises `Conflict` if it exists, `InvalidRequest` if its name collides with another's.
        """
        async with self._changing:
            if name in self._by_name:
                raise Conflict(f"topic {name!r} exists")
            self.refuse_collision(name)
            await self._forget(name)
            record = TopicRecord(uuid.uuid4().hex, partitions, dict(configs))
            await self._metadata.write_topic(name, record)
            return self._add(name, record)

    async def change(self, topic: Topic, before: TopicRecord, after: TopicRecord) -> bool:
        """Make `after` true of a topic, durably: its configs are obeyed, its new partitions are there.

        Returns False if something else was changed since `before` was read: who asks looks again.
        """
        async with self._changing:
            if topic.record is not before or not self._is_there(topic):
                return False
            await self._metadata.write_topic(topic.name, after)
            topic.record = after
            self._add_partitions(topic)
            topic.encoded.clear()
        settings = self.settings_of(topic)
        for each in topic.partitions:
            if each.is_open:
                each.log.settings = settings
        return True

    async def mark_deleted(self, topic: Topic) -> None:
        """Take the topic away from clients and groups, durably; `finish_deletion` removes its files.

        Raises `NotFound` if somebody else has done it: the name may be another topic's by now.
        """
        async with self._changing:
            if not self._is_there(topic):
                raise NotFound(f"topic {topic.name!r} was deleted")
            await self._metadata.write_topic(topic.name, replace(topic.record, is_deleting=True))
            self._by_name.pop(topic.name, None)
            self._by_id.pop(topic.id, None)
            self._remembered.add(topic.name)
            for each in topic.partitions:
                each.abandon()
                self._open_logs.forget(each)
                self._set_aside(each.name)
            await self._forget(topic.name)

    async def finish_deletion(self, name: str) -> None:
        """Forget a topic whose files are gone or set aside, unless it was created anew."""
        async with self._changing:
            if name not in self._by_name:
                await self._forget(name)
                await self._metadata.write_topic(name, None)

    def set_aside_files(self, name: str) -> None:
        """Rename what an interrupted deletion left, so that the name is free."""
        for each in self._disk.names(self._directory):
            if re.fullmatch(re.escape(name) + r"-\d+", each):
                self._set_aside(each)

    def remove_deleted_files(self) -> None:
        """Remove directories that were set aside, durably; may take its time, on any thread."""
        for each in self._disk.names(self._directory):
            if each.endswith(".deleted"):
                self._disk.remove_tree(self._directory / each)
        self._disk.sync_directory(self._directory)

    def settings_of(self, topic: Topic) -> LogSettings:
        return log_settings(topic.configs, self.defaults)

    def close(self) -> dict[str, Summary]:
        """Close every log; returns the summaries for the next start."""
        summaries = {}
        for topic in self:
            for each in topic.partitions:
                summary = each.close()
                if summary is not None and (summary.segments or summary.next_offset > 0):
                    summaries[each.name] = summary
        return summaries

    async def _forget(self, name: str) -> None:
        """Have the groups forget a deleted topic, unless they have."""
        if name in self._remembered:
            await self._forget_offsets(name)
            self._remembered.discard(name)

    def _is_there(self, topic: Topic) -> bool:
        return self._by_name.get(topic.name) is topic

    def _add(self, name: str, record: TopicRecord) -> Topic:
        topic = Topic(name, record)
        self._add_partitions(topic)
        self._by_name[name] = topic
        self._by_id[topic.id] = topic
        return topic

    def _add_partitions(self, topic: Topic) -> None:
        for index in range(len(topic.partitions), topic.record.partitions):
            summary = self._summaries.pop(f"{topic.name}-{index}", None)
            if summary is None and self._is_clean:
                summary = Summary(0, 0, 0, ())
            opener = partial(self._open, topic, index)
            topic.partitions.append(Partition(topic.name, index, opener, summary))

    def _open(self, topic: Topic, index: int, summary: Summary | None) -> PartitionLog:
        directory = self._directory / f"{topic.name}-{index}"
        is_unknown = summary is None or not summary.segments
        if is_unknown and _belongs_to_another(self._disk, directory, topic):
            self._set_aside(directory.name)
        self._open_logs.make_room()
        topic.encoded.clear()  # Recovery may begin a new leader epoch.
        log = PartitionLog.open(
            self._disk,
            directory,
            self.settings_of(topic),
            self._clock,
            topic_id=topic.record.id,
            summary=summary,
        )
        log.make_room = self._open_logs.make_room
        if not topic.is_internal:
            self._open_logs.add(topic.partitions[index])
        return log

    def _set_aside(self, name: str) -> None:
        directory = self._directory / name
        if self._disk.names(directory):
            # Not by its own name and more: that may be as long as the system allows.
            self._disk.rename(directory, self._directory / f"{uuid.uuid4().hex}.deleted")


def _belongs_to_another(disk: Disk, directory: Path, topic: Topic) -> bool:
    """Whether files of a deleted topic of the same name came back after a power cut."""
    try:
        state = read_state(disk, directory)
    except Corruption:
        return False
    return state is not None and state.topic_id != topic.record.id


def check_topic_name(name: str) -> None:
    """Raise `InvalidRequest` unless Kafka would accept the name."""
    if not name or name in (".", ".."):
        raise InvalidRequest(f"topic name {name!r} is not allowed")
    if len(name) > LONGEST_NAME:
        raise InvalidRequest(f"a topic name has at most {LONGEST_NAME} characters, not {len(name)}")
    if not _LEGAL.fullmatch(name):
        raise InvalidRequest(
            f"topic name {name!r} is not allowed", hint="use letters, digits, '.', '_' and '-'"
        )
