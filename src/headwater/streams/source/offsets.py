"""Offsets as Spark's Kafka source writes them, `{"orders": {"0": 23, "1": 345}}`, and where reading begins.

Written in one order always: Spark compares offsets as text. What else there is to tell stands in names that
no topic has, without partitions: Spark's Kafka source passes over them, and can go on from here.

Unless it starts at offset 0 everywhere, the end of a query's first batch tells where that batch starts,
as JSON in JSON: `{"orders": {"0": 23}, "(start {...})": {}}`

Every end tells also which topics of these names it is of: an offset of one means nothing in another:
`{"orders": {"0": 23}, "orders (id 5b9c...)": {}}`
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from headwater.bulk.ranges import TopicPartition
from headwater.errors import InvalidRequest

Offsets = dict[TopicPartition, int]
OffsetsJson = dict[str, dict[str, int]]

OLD_START: Final = " (start)"
"""So earlier versions told it: behind the name of a topic whose partitions are where the query began."""

_START: Final = re.compile(r"\(start (\{.*\})\)")
"""Where the query began, in these same words."""
_ID: Final = re.compile(r"(.+) \(id ([0-9a-f]{32})\)")
"""The name of a topic, and its id."""


def to_json(
    offsets: Offsets, first: Offsets | None = None, ids: Mapping[str, str] | None = None
) -> OffsetsJson:
    """Write offsets; `first` are those where the query began, `ids` those of the topics by name."""
    written: OffsetsJson = {}
    for partition in sorted(offsets):
        written.setdefault(partition.topic, {})[str(partition.partition)] = offsets[partition]
    if first is not None:
        written[f"(start {json.dumps(to_json(first))})"] = {}
    for topic in sorted({each.topic for each in offsets} & set(ids or {})):
        written[f"{topic} (id {(ids or {})[topic]})"] = {}
    return written


def from_json(written: Any, name: str) -> Offsets:
    """Read what a checkpoint or an option says; `name` is what to blame."""
    everything = _parsed(written, name)
    return {each: everything[each] for each in everything if not each.topic.endswith(OLD_START)}


def first_start(written: OffsetsJson, name: str) -> Offsets | None:
    """Where the query began; None if these offsets do not say so."""
    for each in written:
        if found := _START.fullmatch(each):
            return from_json(json.loads(found[1]), name)
    in_old_words = {
        TopicPartition(each.topic.removesuffix(OLD_START), each.partition): offset
        for each, offset in _parsed(written, name).items()
        if each.topic.endswith(OLD_START)
    }
    return in_old_words or None


def topic_ids(written: OffsetsJson) -> dict[str, str]:
    """Which topics these offsets are of, as far as they say so: those of earlier versions do not."""
    found = (_ID.fullmatch(each) for each in written)
    return {each[1]: each[2] for each in found if each is not None}


def _parsed(written: Any, name: str) -> Offsets:
    try:
        return {
            TopicPartition(topic, int(partition)): _whole(offset)
            for topic, partitions in written.items()
            for partition, offset in partitions.items()
        }
    except (AttributeError, TypeError, ValueError) as error:
        raise InvalidRequest(
            f"{name} is not a mapping of topics to partitions to numbers: {written!r}",
            hint='write it as {"orders": {"0": 23, "1": 345}}',
        ) from error


def _whole(number: Any) -> int:
    if not isinstance(number, int) or isinstance(number, bool):
        raise TypeError(number)
    return number


@dataclass(frozen=True, slots=True)
class Everywhere:
    """`EARLIEST` or `LATEST` of every partition."""

    offset: int


@dataclass(frozen=True, slots=True)
class AtOffsets:
    """One offset for each partition; `EARLIEST` and `LATEST` stand for themselves."""

    offsets: Mapping[TopicPartition, int]
    option: str


@dataclass(frozen=True, slots=True)
class AtTimes:
    """The first record of each partition at a time in ms or later; one time, or one for each."""

    times: Mapping[TopicPartition, int] | int
    option: str
    or_latest: bool
    """What to do where no record is so young: begin (or end) at the end, or refuse."""


Bound = Everywhere | AtOffsets | AtTimes
"""Where reading begins or ends."""


def refuse_other_partitions(
    given: Iterable[TopicPartition], partitions: Iterable[TopicPartition], option: str
) -> None:
    """An option that names partitions must name all of them, and no others."""
    missing = sorted(set(partitions) - set(given))
    unknown = sorted(set(given) - set(partitions))
    if missing:
        raise InvalidRequest(
            f"{option} does not say where to begin or end in {missing[0]}",
            hint="name every partition; -2 is the earliest offset, -1 the latest",
        )
    if unknown:
        raise InvalidRequest(f"{option} names {unknown[0]}, which is not among what is read")
