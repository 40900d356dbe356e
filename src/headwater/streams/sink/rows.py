"""Rows of the sink as messages for librdkafka: a whole Arrow batch at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import InvalidRecord, InvalidRequest

Message = dict[str, Any]
Headers = list[tuple[str, str | bytes | None]]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Messages for one topic; `headers` has an entry for each where any has headers."""

    topic: str
    messages: list[Message]
    headers: list[Headers | None] | None = None


def outgoing(batch: pa.RecordBatch, default_topic: str | None) -> Iterator[Outgoing]:
    """Split by topic: the column `topic` of a row, or the option for all."""
    if "topic" not in batch.schema.names:
        if default_topic is None:
            raise InvalidRequest(
                "the sink does not know where to write",
                hint='.option("topic", "orders"), or a column named topic',
            )
        yield _messages(default_topic, batch)
        return
    topics = batch.column("topic")
    for topic in pc.unique(topics).to_pylist():
        name = default_topic if topic is None else topic
        if name is None:
            raise InvalidRecord(
                "a row has no topic", hint='fill the column, or give .option("topic", ...)'
            )
        chosen = pc.is_null(topics) if topic is None else pc.equal(topics, topic)
        yield _messages(name, batch.filter(chosen))


def _messages(topic: str, batch: pa.RecordBatch) -> Outgoing:
    names = [each for each in ("key", "value", "partition") if each in batch.schema.names]
    columns = [batch.column(each).to_pylist() for each in names]
    if names == ["key", "value"]:
        messages: list[Message] = [
            {"key": key, "value": value} for key, value in zip(*columns, strict=True)
        ]
    else:
        messages = [
            {name: each for name, each in zip(names, row, strict=True) if each is not None}
            for row in zip(*columns, strict=True)
        ]
    headers = None
    if "headers" in batch.schema.names and batch.column("headers").null_count < batch.num_rows:
        headers = [_headers(each) for each in batch.column("headers").to_pylist()]
    return Outgoing(topic, messages, headers)


def _headers(found: list[dict[str, Any]] | None) -> Headers | None:
    if not found:
        return None
    return [(each["key"], each["value"]) for each in found]
