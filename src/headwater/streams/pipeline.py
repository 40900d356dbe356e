"""`Pipeline`: datasets and the queries that fill them, in the words of Spark's declarative pipelines.

A decorator declares and returns the function unchanged, so that a test calls it with two static
DataFrames. Inputs are parameters named after datasets. Declaring needs no Spark.
"""

import inspect
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeVar, overload

from headwater.errors import InvalidRequest
from headwater.streams.datasets import (
    Body,
    Changelog,
    Columns,
    Dataset,
    Flow,
    MaterializedView,
    Table,
    Topic,
    View,
)
from headwater.streams.ddl import ddl_of
from headwater.streams.given import (
    Expect,
    Settings,
    expectations,
    refuse_bad_output,
    refuse_no_function,
    refuse_unknown,
    texts,
)
from headwater.streams.graph import Graph, is_legal_name
from headwater.streams.locations import Location, of_caller, of_function

if TYPE_CHECKING:
    from headwater.streams.ddl import Schema

B = TypeVar("B", bound=Body)
OutputMode = Literal["append", "update"]

DEFAULT_FOLDER = "pipelines"
"""Where a user's pipelines are."""

SPARK = "spark"
"""A parameter of this name is given the Spark session."""

_OPTIONS: Final = (
    "name",
    "comment",
    "schema",
    "key",
    "spark_conf",
    "expect",
    "version",
    "atomic",
    "topic",
    "output_mode",
)
"""What tables and materialized views can both be told."""


class Decorator(Protocol):
    def __call__(self, body: B, /) -> B: ...


class Pipeline:
    """A named set of datasets; `headwater pipeline run` runs it, `hw.testing.run` tests it.

    shop = hw.Pipeline("shop")
    orders = shop.topic("shop.orders", schema="id LONG, total DOUBLE, at TIMESTAMP")

    @shop.materialized_view(key="minute")
    def revenue(orders: DataFrame) -> DataFrame:
        return orders.groupBy(F.window("at", "1 minute").alias("minute")).agg(F.sum("total"))
    """

    def __init__(self, name: str) -> None:
        _refuse_bad_name(name, "pipeline")
        self.name = name
        self._datasets: list[Dataset] = []
        self._flows: list[Flow] = []

    def __repr__(self) -> str:
        return f"Pipeline({self.name!r})"

    def add(self, dataset: Dataset) -> None:
        """Declare a dataset that is already described; the decorators are the common way."""
        self._datasets.append(dataset)

    def add_flow(self, flow: Flow) -> None:
        self._flows.append(flow)

    def graph(self) -> Graph:
        """The datasets and flows, checked; raises `InvalidRequest` with the file and line to mend."""
        return Graph.of(self.name, self._datasets, self._flows)

    def topic(
        self,
        topic: str,
        *,
        name: str | None = None,
        schema: "Schema | None" = None,
        event_time: str | None = None,
        watermark: str | None = None,
        options: Settings | None = None,
    ) -> Topic:
        """Read a topic; with `schema`, JSON values as typed columns, otherwise Kafka's raw columns.

        A value that does not fit the schema goes to the dead-letter topic. `event_time` names the
        column that says when something happened, `watermark` how long to wait for stragglers.
        """
        location = of_caller()
        if watermark is not None and event_time is None:
            raise InvalidRequest(
                f"topic {topic!r} at {location} has a watermark but no event time",
                hint='name the column that holds the time: event_time="at"',
            )
        dataset = Topic(
            name=_dataset_name(name or topic, location),
            topic=topic,
            location=location,
            schema=ddl_of(schema, location),
            event_time=event_time,
            watermark=watermark or ("0 seconds" if event_time else None),
            options=texts(options, "option", location),
        )
        self.add(dataset)
        return dataset

    def changelog(
        self,
        topic: str,
        *,
        key: str | Iterable[str],
        schema: "Schema",
        name: str | None = None,
        options: Settings | None = None,
    ) -> Changelog:
        """Read a topic as a table: the last value of each record key; a null value deletes.

        Joined with a stream, each batch sees the table as it was when the batch began.
        """
        location = of_caller()
        dataset = Changelog(
            name=_dataset_name(name or topic, location),
            topic=topic,
            location=location,
            key=_columns(key),
            schema=ddl_of(schema, location),
            options=texts(options, "option", location),
        )
        self.add(dataset)
        return dataset

    @overload
    def table(self, function: B, /) -> B: ...
    @overload
    def table(
        self,
        /,
        *,
        name: str | None = None,
        comment: str = "",
        schema: "Schema | None" = None,
        key: str | Iterable[str] = (),
        partition_cols: Iterable[str] = (),
        spark_conf: Settings | None = None,
        expect: Expect | None = None,
        version: int = 1,
        atomic: bool = False,
        topic: str | None = None,
    ) -> Decorator: ...
    def table(self, function: Body | None = None, /, **options: Any) -> Any:
        """Append every result row to a topic, once; `key` columns become the record's key."""

        def declare(body: B, /) -> B:
            refuse_no_function(body)
            known = (*_OPTIONS, "partition_cols")
            refuse_unknown(options, known, _name_of(body), of_function(body))
            rest = dict(options)
            key, spread = (_columns(rest.pop(each, ())) for each in ("key", "partition_cols"))
            self._output(Table, body, key=key or spread, **rest)
            return body

        return declare if function is None else declare(function)

    @overload
    def materialized_view(self, function: B, /) -> B: ...
    @overload
    def materialized_view(
        self,
        /,
        *,
        key: str | Iterable[str] = (),
        name: str | None = None,
        comment: str = "",
        schema: "Schema | None" = None,
        spark_conf: Settings | None = None,
        expect: Expect | None = None,
        version: int = 1,
        atomic: bool = False,
        topic: str | None = None,
        output_mode: OutputMode | None = None,
    ) -> Decorator: ...
    def materialized_view(self, function: Body | None = None, /, **options: Any) -> Any:
        """Keep the present row of each key in a compacted topic; it is served and subscribable.

        Without `key` it is what the query groups by. A window column counts as its start; its end is
        served beside it as `<name>_end`.
        """

        def declare(body: B, /) -> B:
            refuse_no_function(body)
            refuse_unknown(options, _OPTIONS, _name_of(body), of_function(body))
            rest = dict(options)
            self._output(MaterializedView, body, key=_columns(rest.pop("key", ())), **rest)
            return body

        return declare if function is None else declare(function)

    @overload
    def view(self, function: B, /) -> B: ...
    @overload
    def view(self, /, *, name: str | None = None, comment: str = "") -> Decorator: ...
    def view(
        self, function: Body | None = None, /, *, name: str | None = None, comment: str = ""
    ) -> Any:
        """Name a query for others to build on; nothing is stored."""

        def declare(body: B, /) -> B:
            refuse_no_function(body)
            location = of_function(body)
            dataset = View(_dataset_name(name or _name_of(body), location), location, comment)
            self.add(dataset)
            self._flow(dataset.name, dataset.name, body, None)
            return body

        return declare if function is None else declare(function)

    temporary_view = view

    def append_flow(
        self, *, target: str, name: str | None = None, spark_conf: Settings | None = None
    ) -> Decorator:
        """Fill a table from one more query."""

        def declare(body: B, /) -> B:
            refuse_no_function(body)
            self._flow(name or _name_of(body), target, body, spark_conf)
            return body

        return declare

    def create_streaming_table(
        self,
        name: str,
        *,
        comment: str = "",
        schema: "Schema | None" = None,
        key: str | Iterable[str] = (),
        expect: Expect | None = None,
    ) -> Table:
        """Declare a table that only append flows fill."""
        location = of_caller()
        dataset = Table(
            name=_dataset_name(name, location),
            topic=self.topic_of(name, 1),
            location=location,
            key=_columns(key),
            comment=comment,
            schema=ddl_of(schema, location),
            expectations=expectations(expect, location),
        )
        self.add(dataset)
        return dataset

    def _output(  # noqa: PLR0913
        self,
        kind: type[Table | MaterializedView],
        body: Body,
        *,
        key: Columns,
        name: str | None = None,
        comment: str = "",
        schema: "Schema | None" = None,
        spark_conf: Settings | None = None,
        expect: Expect | None = None,
        version: int = 1,
        atomic: bool = False,
        topic: str | None = None,
        output_mode: OutputMode | None = None,
    ) -> None:
        location = of_function(body)
        dataset_name = _dataset_name(name or _name_of(body), location)
        refuse_bad_output(dataset_name, location, version, output_mode)
        self.add(
            kind(
                name=dataset_name,
                topic=_of_version(topic or self.topic_of(dataset_name, 1), version),
                location=location,
                key=key,
                comment=comment or inspect.getdoc(body) or "",
                schema=ddl_of(schema, location),
                expectations=expectations(expect, location),
                version=version,
                atomic=atomic,
                output_mode=output_mode,
            )
        )
        self._flow(dataset_name, dataset_name, body, spark_conf)

    def _flow(self, name: str, target: str, body: Body, spark_conf: Settings | None) -> None:
        location = of_function(body)
        inputs = _inputs_of(body, location)
        settings = texts(spark_conf, "setting", location)
        self.add_flow(Flow(name, target, body, inputs, location, settings))

    def topic_of(self, dataset: str, version: int) -> str:
        """A new version is written beside the old one, under a name of its own."""
        return _of_version(f"{self.name}.{dataset}", version)


def _of_version(topic: str, version: int) -> str:
    return f"{topic}.v{version}" if version > 1 else topic


def _inputs_of(body: Body, location: Location) -> Columns:
    """The datasets that a body names: its parameters, but those with a default."""
    parameters = [
        each
        for each in inspect.signature(body).parameters.values()
        if each.default is inspect.Parameter.empty and each.name != SPARK
    ]
    for each in parameters:
        if each.kind not in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            raise InvalidRequest(
                f"{location}: the parameter {each} of {_name_of(body)!r} names no dataset",
                hint="name each dataset that is read: def enriched(orders, customers)",
            )
    return tuple(each.name for each in parameters)


def _columns(columns: str | Iterable[str]) -> Columns:
    return (columns,) if isinstance(columns, str) else tuple(columns)


def _dataset_name(name: object, location: Location) -> str:
    """A dataset is named as a parameter would be: `shop.orders` is `orders`."""
    last = name.rpartition(".")[2].replace("-", "_") if isinstance(name, str) else ""
    if not last.isidentifier() or last == SPARK:
        raise InvalidRequest(
            f"{name!r} at {location} cannot be the name of a parameter",
            hint='give it one: name="orders"',
        )
    return last


def _refuse_bad_name(name: object, what: str) -> None:
    if not is_legal_name(name, longest=100):
        raise InvalidRequest(
            f"{name!r} is not a name for a {what}",
            hint="use a-z A-Z 0-9 . _ -, at most 100 of them",
        )


def _name_of(body: Body) -> str:
    return str(getattr(body, "__name__", "lambda"))
