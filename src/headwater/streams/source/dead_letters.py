"""Values that cannot be read go to a topic of their own, with the reason and where they come from.

A letter is the record as it was (key, value, headers) and these headers more. It is stored before the task
that met it ends, so none is lost; a task that runs again writes it again, and the origin tells that it is
the same.
"""

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, Self

import pyarrow as pa

from headwater.bulk.json_values import Refused
from headwater.client.client import Client
from headwater.client.producer import Producer
from headwater.streams.log_access import LogAccess
from headwater.streams.source.dead_letter_topics import DeadLetterTopics

REASON: Final = "headwater.reason"
TOPIC: Final = "headwater.topic"
PARTITION: Final = "headwater.partition"
OFFSET: Final = "headwater.offset"
QUERY: Final = "headwater.query"
"""Who could not read it: each query that reads a topic writes a letter of its own."""

_ANY_SIZE: Final = {"message.max.bytes": 1_000_000_000}

Headers = list[tuple[str, str | bytes | None]]


class DeadLetters:
    """A producer that is made for the first letter; leaving the with-block waits for all of them."""

    def __init__(self, log: LogAccess, query: str | None) -> None:
        self._log = log
        self._query = query
        self._client: Client | None = None
        self._producer: Producer | None = None
        self._topics: DeadLetterTopics | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._client is not None:
            self._client.__exit__(kind, error, traceback)

    def send(self, topic: str, records: pa.RecordBatch, refused: list[Refused]) -> None:
        """Queue a letter for each refused record of a batch with all columns."""
        producer, topics = self._opened()
        reasons = {each.position: each.reason for each in refused}
        for row, reason in zip(
            records.take(list(reasons)).to_pylist(), reasons.values(), strict=True
        ):
            headers = self._headers(row, reason)
            topics.make_room(topic, _size(row["key"], row["value"], headers))
            producer.send(topic, row["value"], key=row["key"], headers=headers)

    def _opened(self) -> tuple[Producer, DeadLetterTopics]:
        if self._client is None or self._producer is None or self._topics is None:
            self._client = self._log.client()
            self._producer = self._client.producer(value_format="bytes", options=_ANY_SIZE)
            self._topics = DeadLetterTopics(self._client.admin.topics)
        return self._producer, self._topics

    def _headers(self, row: dict[str, Any], reason: str) -> Headers:
        original = [(each["key"], each["value"]) for each in row["headers"] or ()]
        return [
            *original,
            (REASON, reason),
            (TOPIC, row["topic"]),
            (PARTITION, str(row["partition"])),
            (OFFSET, str(row["offset"])),
            *([] if self._query is None else [(QUERY, self._query)]),
        ]


def _size(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    parts: Sequence[str | bytes | None] = [key, value, *(part for each in headers for part in each)]
    return sum(len(each.encode() if isinstance(each, str) else each) for each in parts if each)
