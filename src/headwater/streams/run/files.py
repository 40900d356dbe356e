"""The files that a query reads: Spark lists them when it is planned, and never again by itself."""

import re
from collections.abc import Iterator
from typing import Any, Final

from pyspark.sql import DataFrame

_OF_READERS: Final = re.compile(r"access_time=\d+; ")


class Files:
    """Folders and files below a query that is no stream; what has no files is not looked at."""

    def __init__(self, frame: DataFrame) -> None:
        jvm: Any = frame.sparkSession._jvm  # noqa: SLF001
        self._everything = getattr(getattr(jvm.scala.collection.immutable, "Nil$"), "MODULE$")
        self._lists = list(_lists_of(frame))

    def now(self) -> list[str]:
        """What there is, with sizes and times of change; the query reads these from now on."""
        found = []
        for each in self._lists:
            each.refresh()
            there = each.listFiles(self._everything, self._everything).mkString("\n")
            found.append(_OF_READERS.sub("", str(there)))
        return found


def _lists_of(frame: DataFrame) -> Iterator[Any]:
    plan: Any = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
    leaves = plan.collectLeaves()
    for place in range(leaves.length()):
        leaf = leaves.apply(place)
        if leaf.nodeName() == "LogicalRelation":
            relation = leaf.relation()
            if relation.getClass().getSimpleName() == "HadoopFsRelation":
                yield relation.location()
