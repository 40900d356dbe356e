"""The cluster metadata log: topics, configs and producer ids, as JSON in a compacted log of its own.

    topic/<name>     {"id": ..., "partitions": ..., "configs": {...}, "is_deleting": ...}
    producer-ids     {"next": ...}

The latest record of a key counts; a record without a value removes the key.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from headwater.broker.committer import Committer
from headwater.broker.partition import Partition
from headwater.broker.replay import replay
from headwater.errors import Corruption
from headwater.log.verify import partition_directories

if TYPE_CHECKING:
    from headwater.broker.topics import TopicRecord

NAME: Final = "__cluster_metadata"
TOPIC_PREFIX: Final = "topic/"
PRODUCER_IDS: Final = "producer-ids"


class MetadataLog:
    """Latest value per key, kept in memory; every write is durable when it returns."""

    def __init__(self, partition: Partition, committer: Committer) -> None:
        self.partition = partition
        self._committer = committer
        self._values: dict[str, dict[str, Any]] = {}

    def load(self) -> None:
        """Read all of it; raises `Corruption` rather than forget a topic."""
        log = self.partition.log
        try:
            for record in replay(log):
                self._apply((record.key or b"").decode(), record.value)
        except Corruption as error:
            raise Corruption(
                f"the metadata of the topics in {log.directory} is damaged: {error.what}",
                hint="restore that directory from a backup; headwater log verify shows the damage",
            ) from error

    def refuse_if_lost(self) -> None:
        """Raise `Corruption` if there are partitions, but never was a topic: theirs are forgotten."""
        log = self.partition.log
        if log.next_offset > 0:
            return
        for each in partition_directories(log.disk, log.directory.parent):
            if each == log.directory:
                continue  # A first start that was cut short has begun it and written nothing.
            raise Corruption(
                f"{each.parent} holds {each.name}, but nothing is known of its topic",
                hint=f"restore {log.directory.name} from a backup, or choose another --data",
            )

    def topics(self) -> Mapping[str, dict[str, Any]]:
        """Return the record of each topic, by name."""
        return {
            key.removeprefix(TOPIC_PREFIX): value
            for key, value in self._values.items()
            if key.startswith(TOPIC_PREFIX)
        }

    def get(self, key: str) -> dict[str, Any] | None:
        return self._values.get(key)

    async def write_topic(self, name: str, record: "TopicRecord | None") -> None:
        await self.write(TOPIC_PREFIX + name, asdict(record) if record is not None else None)

    async def write(self, key: str, value: dict[str, Any] | None) -> None:
        encoded = None if value is None else json.dumps(value).encode()
        self.partition.log.append_own([(key.encode(), encoded)])
        await self._committer.durable(self.partition)
        self._apply(key, encoded)

    def _apply(self, key: str, value: bytes | None) -> None:
        if value is None:
            self._values.pop(key, None)
        else:
            self._values[key] = json.loads(value)
