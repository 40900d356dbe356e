"""What a pipeline is made of: plain data, declared by decorators, checked before anything runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from headwater.streams.locations import Location

Body = Callable[..., Any]
"""A user's function from DataFrames to a DataFrame."""

Action = Literal["warn", "drop", "quarantine", "fail"]
Columns = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Expectation:
    """A condition every row should meet, and what happens to a row that does not."""

    name: str
    condition: str
    action: Action = "warn"


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as an unbounded table: each record a row."""

    name: str
    topic: str
    location: Location
    schema: str | None = None
    event_time: str | None = None
    watermark: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Changelog:
    """A topic as a table that changes: the last row of each key, as of the beginning of a batch."""

    name: str
    topic: str
    location: Location
    key: Columns
    schema: str
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class View:
    """A name for a query; nothing is stored."""

    name: str
    location: Location
    comment: str = ""


def quarantine_of(topic: str) -> str:
    """Where rows go that broke a rule of the output of this topic."""
    return f"{topic}.quarantine"


@dataclass(frozen=True, slots=True)
class Output:
    """What tables and materialized views have in common: a topic that flows write to."""

    name: str
    topic: str
    location: Location
    key: Columns = ()
    comment: str = ""
    schema: str | None = None
    expectations: tuple[Expectation, ...] = ()
    version: int = 1
    atomic: bool = False
    output_mode: Literal["append", "update"] | None = None

    @property
    def quarantine(self) -> str:
        """The topic of rows that broke a rule."""
        return quarantine_of(self.topic)


class Table(Output):
    """A topic that grows: every result row is appended."""

    __slots__ = ()


class MaterializedView(Output):
    """A compacted topic that holds the present row of each key, served to readers."""

    __slots__ = ()


Dataset = Topic | Changelog | View | Table | MaterializedView


@dataclass(frozen=True, slots=True)
class Flow:
    """A query that keeps a dataset filled."""

    name: str
    target: str
    body: Body
    inputs: Columns
    """Datasets named by the body's parameters; a body may name more by `spark.readStream.table`."""
    location: Location
    spark_conf: Mapping[str, str] = field(default_factory=dict)
