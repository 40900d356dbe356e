"""What an old checkpoint depends on: the topics that are read and the state that is kept.

Spark compares little of this and fails late or, worse, goes on with state that means something else.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from pyspark.sql import DataFrame

ANEW: Final = "anew"
"""In place of an output mode: the query is no stream, but computed anew when its inputs have changed."""
_UNIMPORTANT = re.compile(r"#\d+L?|-T\d+ms| AS [\w-]+")
"""Spark's numbers for columns, the watermark's delay, and what a column is called: state has none of it."""

_STATEFUL = {
    "Aggregate": "aggregation",
    "Join": "join",
    "Deduplicate": "dropDuplicates",
    "DeduplicateWithinWatermark": "dropDuplicatesWithinWatermark",
    "FlatMapGroupsInPandasWithState": "applyInPandasWithState",
    "FlatMapGroupsWithState": "mapGroupsWithState",
    "GlobalLimit": "limit",
    "TransformWithState": "transformWithState",
    "TransformWithStateInPySpark": "transformWithState",
}


@dataclass(frozen=True, slots=True)
class Signature:
    """Two versions of a query with equal signatures can share a checkpoint."""

    sources: tuple[str, ...]
    state: tuple[str, ...]
    """One line for each operator that keeps state, from the sources on."""
    output_mode: str
    topic: str
    key: tuple[str, ...]
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    """Which topics of these names were read and filled.

    An offset of one means nothing in another, and what was filled before is not in another.
    """
    state_types: tuple[str, ...] = ()
    """The types in that state; none if they are not known, as in signatures of earlier versions."""
    state_keys: tuple[str, ...] = ()
    """What it is kept by, in terms of the sources; none if that is not known."""
    partitions: int = 0
    """How many the topic of a view has; 0 for tables, and if that is not known."""

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2)

    @classmethod
    def from_json(cls, text: str) -> "Signature":
        written = json.loads(text)
        fields = {name: written[name] for name in cls.__dataclass_fields__ if name in written}
        lists = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
        return cls(**{**fields, **lists})

    def remembering(self, old: "Signature") -> "Signature":
        """The same, with the topics that are not there at the moment."""
        return replace(
            self,
            topic_ids={**old.topic_ids, **self.topic_ids},
            partitions=self.partitions or old.partitions,
        )

    def differences(self, old: "Signature") -> list[str]:
        """What changed since `old`, in words; nothing if an old checkpoint can go on."""
        found = [] if self.output_mode == ANEW else list(self._changes_of_stream(old))
        if (self.topic, self.key) != (old.topic, old.key):
            before = f"{old.topic} by {_listed(old.key)}"
            found.append(f"it wrote {before}, now {self.topic} by {_listed(self.key)}")
        for name, topic_id in self.topic_ids.items():
            if old.topic_ids.get(name, topic_id) != topic_id:
                did = "filled" if name == self.topic else "read"
                found.append(f"the topic {name!r} that it {did} was deleted and made again")
        if 0 < old.partitions != self.partitions > 0:
            found.append(
                f"the topic {self.topic!r} of its view had {_counted(old.partitions)}, "
                f"now {self.partitions}: a key would have rows in two of them"
            )
        return found

    def _changes_of_stream(self, old: "Signature") -> Iterator[str]:
        """What its positions and its state do not fit; what is computed anew has neither."""
        if old.output_mode == ANEW:
            yield "it was computed anew, now it is a stream, which takes back no row of before"
            return
        if self.sources != old.sources:
            yield f"it read {_listed(old.sources)}, now {_listed(self.sources)}"
        if self.state != old.state:
            yield f"it kept {_listed(old.state)}, now {_listed(self.state)}"
        elif old.state_types and self.state_types != old.state_types:
            yield f"it kept {_listed(old.state_types)}, now {_listed(self.state_types)}"
        elif old.state_keys and self.state_keys != old.state_keys:
            yield "what it groups, joins or tells duplicates by is computed in another way"
        if self.output_mode != old.output_mode and (self.state or old.state):
            yield f"it wrote in {old.output_mode} mode, now {self.output_mode}"


def state_of(frame: DataFrame) -> tuple[str, ...]:
    """One line for each operator of a streaming plan that keeps state."""
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
    return tuple(_stateful(plan))


def _stateful(plan: Any) -> Iterator[str]:
    children = plan.children()
    for place in range(children.length()):
        yield from _stateful(children.apply(place))
    kind = _STATEFUL.get(plan.nodeName())
    if kind is None or not plan.isStreaming():
        return
    if kind == "join":
        sides = [children.apply(place).isStreaming() for place in range(children.length())]
        if not all(sides):
            return
    yield f"{kind} {_own_words(plan)}"


def _own_words(plan: Any) -> str:
    text = _UNIMPORTANT.sub("", plan.simpleString(10_000))
    return str(text.partition(" ")[2])


def _counted(partitions: int) -> str:
    return "1 partition" if partitions == 1 else f"{partitions} partitions"


def _listed(parts: Sequence[str]) -> str:
    return ", ".join(parts) or "nothing"
