"""What a test gives a pipeline to read: checked before anything runs, then sent as producers would."""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from headwater.errors import InvalidRequest
from headwater.streams.datasets import Changelog, Topic
from headwater.streams.graph import Graph

if TYPE_CHECKING:
    from headwater.client import Client

_PAIR: Final = 2

Feed = Mapping[str, Iterable[Any]]


def inputs_of(graph: Graph) -> dict[str, Topic | Changelog]:
    """What a pipeline reads and does not write itself, by topic."""
    written = {each.topic for each in graph.outputs}
    return {
        each.topic: each
        for each in graph.datasets.values()
        if isinstance(each, Topic | Changelog) and each.topic not in written
    }


def feeds_of(graph: Graph, feed: Feed | Iterable[Feed]) -> Iterable[Feed]:
    """One or several, by topic; those that are made one by one are looked at one by one."""
    if isinstance(feed, Mapping):
        return [_by_topic(graph, feed)]
    checked = (_by_topic(graph, each) for each in feed)
    return list(checked) if isinstance(feed, Sequence) else checked


def _by_topic(graph: Graph, feed: Feed) -> Feed:
    """The same feed with topics for names of datasets; raises `InvalidRequest` for what nobody reads."""
    if not isinstance(feed, Mapping):
        raise InvalidRequest(
            f"{feed!r} is no feed: it names no topic", hint="feed={topic: [value, ...]}"
        )
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
        if isinstance(values, Mapping | str | bytes):
            raise InvalidRequest(
                f"{name!r} is fed one value and not a list of values",
                hint=f"feed={{{name!r}: [value, ...]}}",
            )
        found.setdefault(name if name in inputs else short[name], []).extend(values)
    return found


def send(client: "Client", graph: Graph, feed: Feed) -> None:
    inputs = inputs_of(graph)
    with client.producer(value_format="bytes") as producer:
        for topic, values in feed.items():
            for each in values:
                key, value = _key_and_value(each)
                dataset = inputs[topic]
                if isinstance(dataset, Changelog):
                    key = _key_of(dataset, key, value)
                producer.send(topic, _encoded(value), key=key)


def _key_and_value(given: Any) -> tuple[Any, Any]:
    if type(given) is tuple:  # not a Row, nor a named one: those are values
        if len(given) != _PAIR:
            raise InvalidRequest(
                f"{given!r} is neither a value nor (key, value)",
                hint="a row is an object: a dict, or JSON as bytes",
            )
        key, value = given
        return _as_object(key), _as_object(value)
    return None, _as_object(given)


def _as_object(given: Any) -> Any:
    """The columns of a row of Spark by name; all else as it is."""
    is_row = isinstance(given, tuple) and hasattr(given, "asDict")
    return given.asDict(recursive=True) if is_row else given


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
    """Bytes, dates, times and decimals as the source reads them."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    if isinstance(value, Decimal | UUID | Path):
        return str(value)
    raise InvalidRequest(
        f"{value!r} cannot be fed: JSON has no {type(value).__name__}",
        hint="give it as text, a number, a list or an object",
    )
