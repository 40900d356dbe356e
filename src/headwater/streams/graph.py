"""The graph of a pipeline: every name is known, nothing depends on itself, each target has its flows.

What can be known without Spark is checked here; schemas and operations are checked when it is planned.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from graphlib import CycleError, TopologicalSorter
from typing import Final

from headwater.errors import InvalidRequest, NotFound
from headwater.streams.datasets import (
    Changelog,
    Dataset,
    Flow,
    MaterializedView,
    Table,
    Topic,
    View,
)
from headwater.streams.locations import Location
from headwater.streams.names_read import names_read

_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")
_LONGEST_TOPIC: Final = 249
_INTERNAL: Final = "__"
"""So begin the topics that brokers, and we, keep for ourselves."""


@dataclass(frozen=True, slots=True)
class Graph:
    name: str
    datasets: Mapping[str, Dataset]
    flows: tuple[Flow, ...]
    """In an order in which each comes after the flows it reads from."""

    @classmethod
    def of(cls, name: str, datasets: Iterable[Dataset], flows: Iterable[Flow]) -> "Graph":
        by_name = _by_name(name, datasets)
        declared = list(flows)
        _refuse_same_flows(name, declared)
        for each in declared:
            _refuse_bad_target(each, by_name)
            for needed in each.inputs:
                _refuse_unknown(needed, each, by_name)
        _refuse_without_flows(by_name, declared)
        _refuse_bad_topics(by_name)
        graph = cls(name, by_name, tuple(declared))
        _refuse_without_queries(graph)
        for each in graph.queries:
            _refuse_bad_name(each)
        return replace(graph, flows=tuple(graph.in_order(declared)))

    def in_order(self, flows: Sequence[Flow]) -> list[Flow]:
        """Each after the flows it reads from; raises `InvalidRequest` if there is no such order."""
        writers = {each.topic: each.name for each in self.outputs}
        sorter: TopologicalSorter[str] = TopologicalSorter()
        for name, each in self.datasets.items():
            if isinstance(each, Topic | Changelog) and each.topic in writers:
                sorter.add(name, writers[each.topic])
        for flow in flows:
            sorter.add(flow.target, *flow.inputs)
        try:
            order = {name: place for place, name in enumerate(sorter.static_order())}
        except CycleError as error:
            names = list(reversed(error.args[1]))
            first = next(each for each in flows if each.target in names)
            raise circle(names, first.location) from error
        return sorted(flows, key=lambda each: order[each.target])

    @property
    def outputs(self) -> Iterator[Table | MaterializedView]:
        for each in self.datasets.values():
            if isinstance(each, Table | MaterializedView):
                yield each

    @property
    def queries(self) -> Iterator[Flow]:
        """The flows that run as a query of their own: all but those of views."""
        for each in self.flows:
            if not isinstance(self.datasets[each.target], View):
                yield each

    def flow_of_view(self, view: str) -> Flow:
        return next(each for each in self.flows if each.target == view)

    def flow(self, name: str) -> Flow:
        for each in self.queries:
            if each.name == name:
                return each
        names = [each.name for each in self.queries]
        raise NotFound(
            f"pipeline {self.name!r} has no query {name!r}",
            hint=_meant(name, names) or f"it has: {', '.join(names)}",
        )

    def edges(self) -> Iterator[tuple[str, str]]:
        """(from, to) of datasets, each once; what is read by name is known as far as the code tells."""
        found = {
            (needed, each.target): None
            for each in self.flows
            for needed in (*each.inputs, *names_read(each.body))
            if needed in self.datasets
        }
        yield from found


@dataclass(frozen=True, slots=True)
class Joint:
    """A topic that a pipeline reads and one of the same pipelines, maybe another, writes."""

    writer: Graph
    output: str
    reader: Graph
    name: str
    """Of the topic, among the datasets of its reader."""


def joints_of(graphs: Sequence[Graph]) -> Iterator[Joint]:
    writers = {each.topic: (graph, each.name) for graph in graphs for each in graph.outputs}
    for reader in graphs:
        for name, each in reader.datasets.items():
            if isinstance(each, Topic | Changelog) and each.topic in writers:
                yield Joint(*writers[each.topic], reader, name)


def _by_name(pipeline: str, datasets: Iterable[Dataset]) -> dict[str, Dataset]:
    found: dict[str, Dataset] = {}
    for each in datasets:
        other = found.get(each.name)
        if other is not None:
            raise InvalidRequest(
                f"pipeline {pipeline!r} has two datasets {each.name!r}: "
                f"{other.location} and {each.location}",
                hint="give one of them another name",
            )
        found[each.name] = each
    return found


def _refuse_same_flows(pipeline: str, flows: list[Flow]) -> None:
    seen: dict[str, Flow] = {}
    for each in flows:
        other = seen.setdefault(each.name, each)
        if other is not each:
            raise InvalidRequest(
                f"pipeline {pipeline!r} has two flows {each.name!r}: "
                f"{other.location} and {each.location}",
                hint="a flow's name names its checkpoint: give one of them another",
            )


def _refuse_bad_target(flow: Flow, datasets: Mapping[str, Dataset]) -> None:
    target = datasets.get(flow.target)
    if target is None:
        names = [name for name, each in datasets.items() if isinstance(each, Table)]
        raise InvalidRequest(
            f"{flow.location}: flow {flow.name!r} fills {flow.target!r}, which does not exist",
            hint=_meant(flow.target, names)
            or f'declare it: pipeline.create_streaming_table("{flow.target}")',
        )
    if flow.name != flow.target and not isinstance(target, Table):
        raise InvalidRequest(
            f"{flow.location}: flow {flow.name!r} cannot fill {flow.target!r}, "
            f"which is {_kind(target)}",
            hint="only a table takes append flows",
        )


def _refuse_unknown(needed: str, flow: Flow, datasets: Mapping[str, Dataset]) -> None:
    if needed not in datasets:
        raise InvalidRequest(
            f"{flow.location}: {flow.name!r} reads {needed!r}, which does not exist",
            hint=_meant(needed, list(datasets)) or f"datasets: {', '.join(datasets)}",
        )


def _refuse_without_queries(graph: Graph) -> None:
    if any(graph.queries):
        return
    place = next((f"{each.location}: " for each in graph.flows), "")
    raise InvalidRequest(
        f"{place}pipeline {graph.name!r} has nothing to run" + (", only views" if place else ""),
        hint="decorate a function with @pipeline.table or @pipeline.materialized_view",
    )


def _refuse_without_flows(datasets: Mapping[str, Dataset], flows: list[Flow]) -> None:
    filled = {each.target for each in flows}
    for name, each in datasets.items():
        if isinstance(each, Table) and name not in filled:
            raise InvalidRequest(
                f"{each.location}: no flow fills table {name!r}",
                hint=f'add one: @pipeline.append_flow(target="{name}")',
            )


def _refuse_bad_name(query: Flow) -> None:
    if not is_legal_name(query.name, longest=_LONGEST_TOPIC):
        raise InvalidRequest(
            f"{query.location}: {query.name!r} is not a name for a flow",
            hint='a flow\'s name names its checkpoint: give it one of a-z A-Z 0-9 . _ -: name="..."',
        )


def _refuse_bad_topics(datasets: Mapping[str, Dataset]) -> None:
    """An output has a topic of its own, whose name a log will take."""
    writers: dict[str, Table | MaterializedView] = {}
    for each in datasets.values():
        if not isinstance(each, Table | MaterializedView):
            continue
        if not is_legal_name(each.topic, longest=_LONGEST_TOPIC):
            raise InvalidRequest(
                f"{each.location}: {each.topic!r} of {each.name!r} is not a name for a topic",
                hint='give it one of a-z A-Z 0-9 . _ -: name="..." or topic="..."',
            )
        if each.topic.startswith(_INTERNAL):
            raise InvalidRequest(
                f"{each.location}: {each.name!r} would write the topic {each.topic!r}, "
                "which is the log's own",
                hint=f"names that begin with {_INTERNAL} are: choose another",
            )
        other = writers.setdefault(each.topic, each)
        if other is not each:
            raise InvalidRequest(
                f"{each.location}: {each.name!r} would write the topic {each.topic!r}, "
                f"which {other.name!r} writes ({other.location})",
                hint="give it another, or fill one table from both: @pipeline.append_flow(target=...)",
            )


def is_legal_name(name: object, *, longest: int) -> bool:
    """Whether a log takes it for a topic, and a disk for a folder."""
    is_legal = isinstance(name, str) and _LEGAL.fullmatch(name) and name not in (".", "..")
    return bool(is_legal) and len(str(name)) <= longest


def circle(names: list[str], location: Location) -> InvalidRequest:
    """What is wrong with datasets each of which is made from the next."""
    return InvalidRequest(
        f"{location}: {' -> '.join(names)} goes in a circle",
        hint="a dataset cannot be made from itself; read a topic that another pipeline writes",
    )


def _kind(dataset: Dataset) -> str:
    kinds = {
        Topic: "a topic that is read",
        Changelog: "a changelog that is read",
        View: "a view",
        MaterializedView: "a materialized view",
        Table: "a table",
    }
    return kinds[type(dataset)]


def _meant(name: str, names: list[str]) -> str:
    close = get_close_matches(name, names, n=1)
    return f"did you mean {close[0]!r}?" if close else ""
