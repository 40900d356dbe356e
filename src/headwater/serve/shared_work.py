"""What several ask for at the same time is done once, for all of them."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Work = Callable[[], Coroutine[Any, Any, T]]


class SharedWork(Generic[T]):
    """By name. What has begun is finished, even if all who asked for it have left."""

    def __init__(self) -> None:
        self._in_hand: dict[Hashable, asyncio.Task[T]] = {}

    async def do(self, name: Hashable, work: Work[T]) -> T:
        """The result of the work of this name that is in hand, else of this."""
        task = self._in_hand.get(name)
        if task is None:
            task = self._in_hand[name] = started(self._finished(name, work))
        return await asyncio.shield(task)

    async def _finished(self, name: Hashable, work: Work[T]) -> T:
        try:
            return await work()
        finally:
            del self._in_hand[name]


class FreshAnswers(Generic[T]):
    """By name, too; but a question that was asked already is too old, so the next one is shared."""

    def __init__(self) -> None:
        self._in_hand: dict[Hashable, asyncio.Task[T]] = {}
        self._next: dict[Hashable, asyncio.Task[T]] = {}

    async def ask(self, name: Hashable, question: Work[T]) -> T:
        """An answer to a question that was put after this call."""
        task = self._next.get(name)
        if task is None:
            task = self._next[name] = started(self._after_the_last(name, question))
        return await asyncio.shield(task)

    async def _after_the_last(self, name: Hashable, question: Work[T]) -> T:
        if name in self._in_hand:
            await asyncio.wait([self._in_hand[name]])
        self._in_hand[name] = self._next.pop(name)
        try:
            return await question()
        finally:
            del self._in_hand[name]


def started(work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
    """Its failure is not complained about, should nobody be left to see it."""
    task = asyncio.create_task(work)
    task.add_done_callback(_see_failure)
    return task


def _see_failure(task: "asyncio.Task[Any]") -> None:
    if not task.cancelled():
        task.exception()
