"""Rules about rows: counted, and kept out, set aside or refused, as each rule says.

A condition that is neither true nor false (null) is not met. Rules are about rows that stay: a deletion
brings nothing that could break one, and kept out it would leave behind what it was to delete.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.streams.datasets import Expectation
from headwater.streams.run.columns import column

DELETED: Final = "_deleted"
"""A boolean column of this name turns a row into a deletion of its key."""
OBSERVATION: Final = "headwater.expectations"
BROKEN: Final = "__headwater_broken"
"""A column with the names of the rules that send a row to quarantine."""


def apply(frame: DataFrame, rules: Sequence[Expectation]) -> DataFrame:
    """Count what breaks each rule (in the query's progress) and act on it; adds column `BROKEN`."""
    if not rules:
        return frame
    stays = ~is_deleted(frame)
    judged = frame.select(
        "*", *((stays & _is_broken(rule)).alias(_flag(place)) for place, rule in enumerate(rules))
    ).observe(
        OBSERVATION,
        *(F.count_if(F.col(_flag(place))).alias(rule.name) for place, rule in enumerate(rules)),
    )
    for place, rule in enumerate(rules):
        broken = F.col(_flag(place))
        if rule.action == "fail":
            message = F.lit(f"a row breaks the rule {rule.name!r}: {rule.condition}")
            judged = judged.filter(F.when(broken, F.raise_error(message)).otherwise(F.lit(True)))
        elif rule.action == "drop":
            judged = judged.filter(~broken)
    reasons = F.array_compact(
        F.array(
            *(
                F.when(F.col(_flag(place)), F.lit(rule.name))
                for place, rule in enumerate(rules)
                if rule.action == "quarantine"
            ),
            F.lit(None).cast("string"),
        )
    )
    return judged.select(*(column(each) for each in frame.columns), reasons.alias(BROKEN))


def is_deleted(frame: DataFrame) -> Column:
    return F.coalesce(F.col(DELETED), F.lit(False)) if DELETED in frame.columns else F.lit(False)


def _is_broken(rule: Expectation) -> Column:
    return ~F.coalesce(F.expr(rule.condition), F.lit(False))


def _flag(place: int) -> str:
    return f"__headwater_rule_{place}"
