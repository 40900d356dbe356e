"""What a test gives a pipeline to read: checked before anything runs, then sent as producers would."""

import json
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from headwater.errors import InvalidRequest
from headwater.streams.datasets import Changelog, Topic
from headwater.streams.graph import Graph

if TYPE_CHECKING:
    from headwater.client import Client

Feed = Mapping[str, Iterable[Any]]


def inputs_of(graph: Graph) -> dict[str, Topic | Changelog]:
    """What a pipeline reads and does not write itself, by topic."""
    written = {each.topic for each in graph.outputs}
    return {
        each.topic: each
        for each in graph.datasets.values()
        if isinstance(each, Topic | Changelog) and each.topic not in written
    }


def by_topic(graph: Graph, feed: Feed) -> Feed:
    """The same feed with topics for names of datasets; raises `InvalidRequest` for what nobody reads."""
    inputs = inputs_of(graph)
    short = {each.name: topic for topic, each in inputs.items()}
    found: dict[str, list[Any]] = {}
    for name, values in feed.items():
        if name not in inputs and name not in short:
            near = get_close_matches(name, [*inputs, *short], n=1)
            raise InvalidRequest(
                f"pipeline {graph.name!r} does not read {name!r}, so it cannot be fed",
                hint=f"did you mean {near[0]!r}?" if near else f"it reads: {', '.join(inputs)}",
            )
        found.setdefault(name if name in inputs else short[name], []).extend(values)
    return found


def send(client: "Client", graph: Graph, feed: Feed) -> None:
    inputs = inputs_of(graph)
    with client.producer(value_format="bytes") as producer:
        for topic, values in feed.items():
            for each in values:
                key, value = each if isinstance(each, tuple) else (None, each)
                dataset = inputs[topic]
                if isinstance(dataset, Changelog):
                    key = _key_of(dataset, key, value)
                producer.send(topic, _encoded(value), key=key)


def _key_of(changelog: Changelog, key: Any, row: Any) -> Any:
    """The bytes of a key are what it is told by, so one that holds the key columns has one spelling."""
    if key is None and isinstance(row, Mapping):
        for name in changelog.key:
            if name not in row:
                raise InvalidRequest(
                    f"a row for changelog {changelog.topic!r} has no {name!r}, which is its key: {row}",
                    hint="add it, or name the key of the record: (key, row)",
                )
        key = row
    columns = _object_of(key)
    if not set(changelog.key) <= columns.keys():
        return key
    named = {name: columns[name] for name in changelog.key}
    return json.dumps(named, default=_text, separators=(",", ":"), ensure_ascii=False)


def _object_of(key: Any) -> Mapping[str, Any]:
    if isinstance(key, Mapping):
        return key
    try:
        found = json.loads(key)
    except (TypeError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _encoded(value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return json.dumps(value, default=_text).encode()


def _text(value: Any) -> str:
    """Dates, times and decimals as the source reads them."""
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)
