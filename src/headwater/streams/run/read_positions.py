"""How far queries have read, for everybody to see: committed in a consumer group of each query.

After the results are written: who finds a record before a position finds its results in the output. This is
for `wait_for` of views, and for tools that show the lag of groups; queries themselves never look at it.
"""

import contextlib
import math
import threading
from collections.abc import Iterable, Mapping
from typing import Final

from headwater.client.admin.groups import Move, SeekPlan
from headwater.client.client import Client
from headwater.clock import Clock
from headwater.errors import HeadwaterError, NotFound
from headwater.streams.run.plan import Planned

_AGAIN_S: Final = 3600.0
"""Brokers forget what was committed long ago."""
_RETRY_S: Final = 5.0

Positions = Mapping[str, Mapping[str, int]]
"""Topic -> partition -> next offset."""


def group_of(planned: Planned) -> str:
    return f"headwater-pipeline-{planned.name}.v{planned.output.version}"


class ReadPositions:
    """Of all queries of a runner."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._committed: dict[str, tuple[Positions, float]] = {}
        """What a group was told, and until when that holds."""
        self._not_before_s = -math.inf
        self._noting: threading.Thread | None = None

    def note_all(self, read: Iterable[tuple[Planned, Positions]]) -> None:
        """On a thread of its own: who looks after queries cannot wait for a broker that is away."""
        if self._noting is not None and self._noting.is_alive():
            return
        due = [
            (planned, positions) for planned, positions in read if self._is_due(planned, positions)
        ]
        if due:
            self._noting = threading.Thread(target=self._note_each, args=(due,), daemon=True)
            self._noting.start()

    def _note_each(self, read: list[tuple[Planned, Positions]]) -> None:
        for planned, positions in read:
            self.note(planned, positions)

    def begin(self, planned: Planned) -> None:
        """Before its output is made: what a query has read whose checkpoint is gone, a new one has not."""
        group = group_of(planned)
        if not planned.checkpoint.has_run:
            if self._noting is not None:
                self._noting.join()  # it may be about to tell what was read before
            with contextlib.suppress(NotFound):
                self._client.admin.groups.delete(group)
            if group in self._committed:
                self._committed[group] = (self._committed[group][0], math.inf)

    def note(self, planned: Planned, positions: Positions) -> None:
        """The results of everything before these positions are written."""
        if not self._is_due(planned, positions):
            return
        group, now_s = group_of(planned), self._clock.monotonic_s()
        try:
            self._client.admin.groups.seek(SeekPlan(group, _moves(positions)))
        except HeadwaterError:  # readers wait a little longer
            self._not_before_s = now_s + _RETRY_S
        else:
            self._committed[group] = (positions, now_s + _AGAIN_S)

    def _is_due(self, planned: Planned, positions: Positions) -> bool:
        now_s = self._clock.monotonic_s()
        before, until_s = self._committed.get(group_of(planned), ({}, -math.inf))
        is_known = positions == before and now_s < until_s
        return bool(positions) and not is_known and now_s >= self._not_before_s


def _moves(positions: Positions) -> tuple[Move, ...]:
    return tuple(
        Move(topic, int(partition), before=None, after=offset, end=offset)
        for topic, partitions in positions.items()
        for partition, offset in partitions.items()
    )
