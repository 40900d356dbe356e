"""When things fall due: one heap for all groups or transactions; moving a deadline later costs nothing.

Invariant: every deadline that is set has a heap entry at or before its time. So a heartbeat only
writes a number; the entry is put right when its old time comes.
"""

import asyncio
import contextlib
import heapq
import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

NEVER = math.inf


class Now(NamedTuple):
    """The present: `s` is monotonic, for timeouts; `ms` is the wall clock, for records."""

    s: float
    ms: int


class Deadline:
    """A moment that may be moved or cancelled, and what happens when it comes."""

    __slots__ = ("armed_at", "at", "expire")

    def __init__(self, expire: Callable[[Now], None]) -> None:
        self.expire = expire
        self.at = NEVER
        self.armed_at = NEVER


class Deadlines:
    """All deadlines of one coordinator; `on_sooner` is told when the next comes earlier than before."""

    def __init__(self, on_sooner: Callable[[], None] = lambda: None) -> None:
        self._heap: list[tuple[float, int, Deadline]] = []
        self._order = itertools.count()
        self._on_sooner = on_sooner

    def set(self, deadline: Deadline, at_s: float) -> None:
        deadline.at = at_s
        if at_s < deadline.armed_at:
            deadline.armed_at = at_s
            heapq.heappush(self._heap, (at_s, next(self._order), deadline))
            if self._heap[0][2] is deadline:
                self._on_sooner()

    def cancel(self, deadline: Deadline) -> None:
        deadline.at = NEVER

    def next_s(self) -> float | None:
        """When to look again; nothing falls due before."""
        return self._heap[0][0] if self._heap else None

    def expire_due(self, now: Now) -> None:
        """Run what has fallen due. What that makes due at once waits for the next call."""
        for deadline in self._take_due(now.s):
            if deadline.at <= now.s:
                deadline.at = NEVER
                deadline.expire(now)

    def _take_due(self, now_s: float) -> list[Deadline]:
        due: list[Deadline] = []
        while self._heap and self._heap[0][0] <= now_s:
            armed_at, _, deadline = heapq.heappop(self._heap)
            if armed_at != deadline.armed_at:
                continue  # an earlier entry of the same deadline has replaced this one
            deadline.armed_at = NEVER
            if deadline.at <= now_s:
                due.append(deadline)
            elif deadline.at < NEVER:
                self.set(deadline, deadline.at)
        return due


async def run_deadlines(
    deadlines: Deadlines,
    sooner: asyncio.Event,
    now: Callable[[], Now],
    is_over: Callable[[], bool],
) -> None:
    """Expire what falls due, when it does; `sooner` is set when there may be something earlier to do."""
    while not is_over():
        sooner.clear()
        deadlines.expire_due(now())
        due_s = deadlines.next_s()
        wait_s = None if due_s is None else max(due_s - now().s, 0)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await sooner.wait()
