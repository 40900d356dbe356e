"""Which process runs which tests: a file is run by one, what needs Spark by the first two.

A session of Spark takes seconds to start, and a core, so each process that has one takes tests for it as
long as there are any; the others leave them alone.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

SPARK_TESTS: Final = "streams"
_SESSIONS: Final = 2


class ByFile(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0]

    def _assign_work_unit(self, node: WorkerController) -> None:
        file = self._next_for(node)
        if file is None:
            node.shutdown()
            return
        self.workqueue.move_to_end(file, last=False)
        super()._assign_work_unit(node)

    def _next_for(self, node: WorkerController) -> str | None:
        if node not in self.nodes[:_SESSIONS]:
            return self._first(lambda file: not needs_spark(file))
        return self._first(needs_spark) or self._first(lambda _: True)

    def _first(self, is_wanted: Callable[[str], bool]) -> str | None:
        return next(filter(is_wanted, self.workqueue), None)


def needs_spark(file: str) -> bool:
    return SPARK_TESTS in Path(file).parts
