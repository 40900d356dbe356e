"""What a topic of a test's broker holds, read from its log: no client, no group, no waiting."""

from collections.abc import Callable, Sequence
from typing import Any

from headwater.broker.broker import Broker as EmbeddedBroker
from headwater.broker.replay import replay_committed
from headwater.broker.topics import Topic as StoredTopic
from headwater.client.record import Record, decode_text
from headwater.client.value_format import FormatName, value_format
from headwater.errors import NotFound, UnreadableValue
from headwater.wire.records import Record as StoredRecord

Call = Callable[..., Any]


class Topic:
    """A topic, for assertions. Made by `Broker.topic`."""

    def __init__(self, name: str, broker: EmbeddedBroker, call: Call) -> None:
        self.name = name
        self._broker = broker
        self._call = call

    def records(self, *, value_format: FormatName = "json") -> list[Record]:
        """Return everything committed in the topic: partition by partition, in each in order.

        Values are decoded as the client does it. Raises `NotFound` if there is no such topic.
        """
        found: list[tuple[int, StoredRecord]] = self._call(self._read)
        return [_decoded(self.name, index, each, value_format) for index, each in found]

    def values(self, *, value_format: FormatName = "json") -> list[Any]:
        return [each.value for each in self.records(value_format=value_format)]

    def last(self, *, value_format: FormatName = "json") -> Record:
        """Return the record with the newest time; raises `NotFound` if the topic is empty."""
        records = self.records(value_format=value_format)
        if not records:
            raise NotFound(f"topic {self.name!r} is empty")
        return max(records, key=lambda each: (each.timestamp_ms, each.offset))

    def __len__(self) -> int:
        return len(self._call(self._read))

    async def _read(self) -> Sequence[tuple[int, StoredRecord]]:
        topic = self._found()
        for partition in topic.partitions:
            await self._broker.committer.settle(partition)
        return [
            (each.index, record)
            for each in topic.partitions
            for record in replay_committed(each.log)
        ]

    def _found(self) -> StoredTopic:
        topic = self._broker.topics.get(self.name)
        if topic is None:
            names = ", ".join(sorted(each.name for each in self._broker.topics))
            raise NotFound(f"there is no topic {self.name!r}", hint=f"there are: {names}")
        return topic


def _decoded(topic: str, partition: int, stored: StoredRecord, format_name: FormatName) -> Record:
    raw = stored.value
    try:
        value = None if raw is None else value_format(format_name).decode(raw)
    except ValueError as error:
        raise UnreadableValue(
            f"{topic}/{partition} offset {stored.offset}: the value is not {format_name} ({error})",
            hint='pass value_format="bytes"',
        ) from error
    return Record(
        topic=topic,
        partition=partition,
        offset=stored.offset,
        timestamp_ms=stored.timestamp,
        key=None if stored.key is None else decode_text(stored.key),
        value=value,
        headers=tuple(stored.headers),
        raw_value=raw,
    )
