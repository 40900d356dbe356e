"""Whether the last row of a key is the last one of the log: a shuffle may bring an older one behind it."""

from typing import Any, Final

from pyspark.sql import DataFrame

from headwater.streams.run.logical_plan import analyzed, members

_MOVES: Final = {
    "Aggregate": "an aggregation by other columns than its key",
    "Deduplicate": "dropDuplicates by other columns than its key",
    "DeduplicateWithinWatermark": "dropDuplicatesWithinWatermark by other columns than its key",
    "Distinct": "distinct",
    "FlatMapGroupsInPandasWithState": "applyInPandasWithState by other columns than its key",
    "RepartitionByExpression": "a repartition",
    "TransformWithStateInPySpark": "transformWithState by other columns than its key",
}
_DEDUPLICATES: Final = ("Deduplicate", "DeduplicateWithinWatermark")
_GROUPS: Final = {
    "FlatMapGroupsInPandasWithState": lambda plan: plan.groupingAttributes(),
    "TransformWithStateInPySpark": lambda plan: plan.leftAttributes(),
}
"""What users compute group by group, and the columns of the groups."""

Keys = frozenset[int]
"""Spark's numbers of the columns that a view is keyed by, as far as they are still the same columns."""


def moved_by(frame: DataFrame, key: tuple[str, ...]) -> str | None:
    """What in a query may change the order of two rows of one key in one batch; None if nothing does.

    Nothing does if there is one row of each key in a batch, or if no row leaves its partition.
    """
    plan: Any = analyzed(frame)
    keys = frozenset(_number(each) for each in members(plan.output()) if str(each.name()) in key)
    return _moved_by(plan, keys, key)


def _moved_by(plan: Any, keys: Keys, names: tuple[str, ...]) -> str | None:
    moved: str | None = None
    while True:
        if _has_one_row_of_each(plan, keys, names):
            return None
        moved = moved or _move_of(plan)
        keys = _traced(plan, keys)
        streams = [each for each in members(plan.children()) if each.isStreaming()]
        if len(streams) != 1:
            break
        plan = streams[0]
    if moved or not streams:
        return moved
    places = [at for at, each in enumerate(members(plan.output())) if _number(each) in keys]
    found = (_moved_by(each, _at(each, places), names) for each in streams)
    return next((each for each in found if each), None)


def _has_one_row_of_each(plan: Any, keys: Keys, names: tuple[str, ...]) -> bool:
    """Or, of what users compute group by group, rows that come in the order in which they were made."""
    kind = plan.nodeName()
    if kind in _DEDUPLICATES:
        return {_number(each) for each in members(plan.keys())} <= keys
    if kind in _GROUPS:
        return {str(each.name()) for each in members(_GROUPS[kind](plan))} <= set(names)
    if kind != "Aggregate":
        return False
    shown = [each for each in members(plan.aggregateExpressions()) if _number(each) in keys]
    return all(
        any(_meant(each).semanticEquals(grouping) for each in shown)
        for grouping in members(plan.groupingExpressions())
    )


def _move_of(plan: Any) -> str | None:
    kind = plan.nodeName()
    if kind == "Join":
        return None if _is_broadcast(plan) else "a join"
    if kind == "Repartition":
        return "a repartition" if plan.shuffle() else None
    return _MOVES.get(kind)


def _is_broadcast(join: Any) -> bool:
    """Whether the rows of the stream stay where they are, and the table comes to them."""
    tables = [each for each in members(join.children()) if not each.isStreaming()]
    return any(_has_broadcast_hint(each) for each in tables)


def _has_broadcast_hint(plan: Any) -> bool:
    while plan.nodeName() != "ResolvedHint":
        if plan.children().length() != 1:
            return False
        plan = plan.children().apply(0)
    strategy = plan.hints().strategy()
    return bool(strategy.isDefined() and strategy.get().displayName() == "broadcast")


def _traced(plan: Any, keys: Keys) -> Keys:
    """The same columns below a projection that may have renamed them."""
    if plan.nodeName() != "Project":
        return keys
    shown = [each for each in members(plan.projectList()) if _number(each) in keys]
    columns = [each for each in map(_meant, shown) if _kind(each) == "AttributeReference"]
    return frozenset(map(_number, columns))


def _at(plan: Any, places: list[int]) -> Keys:
    columns = list(members(plan.output()))
    return frozenset(_number(columns[each]) for each in places if each < len(columns))


def _meant(expression: Any) -> Any:
    return expression.child() if _kind(expression) == "Alias" else expression


def _number(expression: Any) -> int:
    return int(expression.exprId().id())


def _kind(expression: Any) -> str:
    return str(expression.getClass().getSimpleName())
