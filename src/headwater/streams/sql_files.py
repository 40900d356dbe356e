"""SQL files of Spark's declarative pipelines: Spark's own parser reads them, each statement is an element.

What comes out is what the decorators of `pyspark.pipelines` make of a Python file.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyspark.errors import ParseException
from pyspark.pipelines.flow import Flow
from pyspark.pipelines.output import MaterializedView, Output, StreamingTable, TemporaryView
from pyspark.pipelines.source_code_location import SourceCodeLocation
from pyspark.sql import DataFrame, SparkSession

from headwater.errors import InvalidRequest, NotSupported
from headwater.streams import auto_cdc
from headwater.streams.run.failures import in_one_sentence
from headwater.streams.user_files import NeedsSpark

Element = Output | Flow
Settings = dict[str, str]
Reader = Callable[["_Statement", Settings], Iterator[Element]]

_QUOTED: Final = "== SQL =="
_RELATIONS: Final = re.compile(r"'UnresolvedRelation \[([^\]]+)\]")
_STATEMENTS: Final = (
    "CREATE MATERIALIZED VIEW, CREATE STREAMING TABLE, CREATE FLOW ... AS INSERT INTO ... BY NAME, "
    "CREATE TEMPORARY VIEW and SET"
)


def elements_of(text: str, file: Path) -> Iterator[Element]:
    """Outputs and flows in their order; `SET` holds for what follows it in the file."""
    spark = SparkSession.getActiveSession()
    if spark is None:
        raise NeedsSpark(f"{file}: Spark reads files in SQL, and there is no session")
    settings: dict[str, str] = {}
    for statement in _statements(spark, text, file):
        kind = str(statement.plan.getClass().getSimpleName())
        if kind == "SetCommand":
            settings |= _setting(statement.plan)
        elif kind in _READERS:
            yield from _READERS[kind](statement, dict(settings))
        else:
            raise NotSupported(
                f"{_place(statement)}: this statement is no part of a pipeline",
                hint=f"a file may hold {_STATEMENTS}",
            )


@dataclass(frozen=True, slots=True)
class _Statement:
    text: str
    where: SourceCodeLocation
    plan: Any


@dataclass(frozen=True, slots=True)
class _Query:
    """The body of a flow: the query in a statement, planned when it is called."""

    statement: _Statement
    query_in: Callable[[Any], Any]
    columns: tuple[str, ...] = ()

    @property
    def relations(self) -> tuple[str, ...]:
        """What it names to read from, in all its parts."""
        return tuple(
            ".".join(each.split(", "))
            for each in _RELATIONS.findall(self.query_in(self.statement.plan).treeString())
        )

    def __call__(self) -> DataFrame:
        spark = SparkSession.active()
        dataset = _jvm_of(spark).org.apache.spark.sql.classic.Dataset
        session: Any = spark._jsparkSession  # noqa: SLF001
        # Parsed anew: a plan that could not be resolved once remembers that for good, and so do the
        # subqueries in a copy of it.
        plan = session.sessionState().sqlParser().parsePlan(self.statement.text)
        rows = dataset.ofRows(session, self.query_in(plan))
        found = DataFrame(rows, spark)
        return found.toDF(*self.columns) if self.columns else found


def _statements(spark: SparkSession, text: str, file: Path) -> Iterator[_Statement]:
    reader = _jvm_of(spark).org.apache.spark.sql.pipelines.graph.SqlGraphRegistrationContext
    try:
        found = reader.splitSqlFileIntoQueries(spark._jsparkSession, text, str(file))  # noqa: SLF001
    except ParseException as error:
        place = f"{file}:{_line_of(error, text)}"
        raise InvalidRequest(f"{place}: {in_one_sentence(error, file)}") from error
    for each in _members(found):
        origin = each.queryOrigin()
        where = SourceCodeLocation(filename=str(file), line_number=origin.line().get())
        yield _Statement(origin.sqlText().get(), where, each.plan())


def _place(statement: _Statement) -> str:
    return f"{statement.where.filename}:{statement.where.line_number}"


def _line_of(error: ParseException, text: str) -> int:
    """Where the statement begins; Spark counts lines from there."""
    statement = str(error).partition(_QUOTED)[2].strip()
    return text[: max(0, text.find(statement.partition("\n")[0]))].count("\n") + 1


def _setting(plan: Any) -> Settings:
    pair = _optional(plan.kv())
    name, value = (None, None) if pair is None else _pair(pair)
    value = None if value is None else _optional(value)
    return {} if value is None else {str(name): str(value)}


def _declared(kind: type[MaterializedView | StreamingTable]) -> Reader:
    def elements(statement: _Statement, _: Settings) -> Iterator[Element]:
        plan = statement.plan
        specification = plan.tableSpec()
        properties = map(_pair, _members(specification.properties()))
        columns = [
            f"{_quoted(each.name())} {each.dataType().sql()}" for each in _members(plan.columns())
        ]
        yield kind(
            name=_name(plan.name().nameParts()),
            comment=_optional(specification.comment()),
            source_code_location=statement.where,
            table_properties={str(name): str(value) for name, value in properties},
            partition_cols=None,
            cluster_by=None,
            schema=", ".join(columns) or None,
            format=None,
        )

    return elements


def _computed(kind: type[MaterializedView | StreamingTable]) -> Reader:
    declared = _declared(kind)

    def elements(statement: _Statement, settings: Settings) -> Iterator[Element]:
        yield from declared(statement, settings)
        name = _name(statement.plan.name().nameParts())
        yield Flow(name, name, settings, statement.where, _Query(statement, _query_of_output))

    return elements


def _query_of_output(plan: Any) -> Any:
    return plan.query()


def _flow(statement: _Statement, settings: Settings) -> Iterator[Element]:
    insert = statement.plan.flowOperation()
    if insert.getClass().getSimpleName() == "AutoCdcInto":
        raise auto_cdc.refusal(_place(statement))
    if not _is_append_by_name(insert):
        raise NotSupported(
            f"{_place(statement)}: a flow appends rows by the names of columns",
            hint="write it as: CREATE FLOW f AS INSERT INTO target BY NAME SELECT ...",
        )
    target = _name(insert.table().multipartIdentifier())
    name = _name(statement.plan.name().nameParts())
    yield Flow(name, target, settings, statement.where, _Query(statement, _query_of_flow))


def _query_of_flow(plan: Any) -> Any:
    return plan.flowOperation().query()


def _is_append_by_name(insert: Any) -> bool:
    return (
        insert.getClass().getSimpleName() == "InsertIntoStatement"
        and insert.byName()
        and not insert.overwrite()
        and insert.partitionSpec().isEmpty()
        and insert.userSpecifiedCols().isEmpty()
    )


def _refuse_auto_cdc(statement: _Statement, _: Settings) -> Iterator[Element]:
    raise auto_cdc.refusal(_place(statement))


def _view(statement: _Statement, settings: Settings) -> Iterator[Element]:
    plan = statement.plan
    name = str(plan.name().table())
    columns = tuple(str(_pair(each)[0]) for each in _members(plan.userSpecifiedColumns()))
    yield TemporaryView(name, _optional(plan.comment()), statement.where)
    query = _Query(statement, _query_of_view, columns)
    yield Flow(name, name, settings, statement.where, query)


def _query_of_view(plan: Any) -> Any:
    return plan.plan()


_READERS: Final[Mapping[str, Reader]] = {
    "CreateMaterializedViewAsSelect": _computed(MaterializedView),
    "CreateStreamingTableAsSelect": _computed(StreamingTable),
    "CreateStreamingTable": _declared(StreamingTable),
    "CreateStreamingTableAutoCdc": _refuse_auto_cdc,
    "CreateFlowCommand": _flow,
    "CreateViewCommand": _view,
}


def _jvm_of(spark: SparkSession) -> Any:
    return spark._jvm  # noqa: SLF001


def _name(parts: Any) -> str:
    return ".".join(str(each) for each in _members(parts))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _members(scala: Any) -> Iterator[Any]:
    found = scala.iterator()
    while found.hasNext():
        yield found.next()


def _optional(scala: Any) -> Any:
    return scala.get() if scala.isDefined() else None


def _pair(scala: Any) -> tuple[Any, Any]:
    return scala._1(), scala._2()  # noqa: SLF001  so Scala calls them
