"""Reads that may have to wait for the disk, told apart from who waits.

A reading is a generator: it yields what has to run on a thread and goes on with what came of it. If
nothing has to, it is over at once, without a task of its own and without a turn of the event loop.
"""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from headwater.errors import HeadwaterError
from headwater.log.batch_file import NotCached

if TYPE_CHECKING:
    from headwater.broker.broker import Broker

T = TypeVar("T")

Reading: TypeAlias = Generator[Callable[[], Any], Any, T]


def at_once(reading: Reading[T]) -> T:
    """Return what is read; raises `NotCached` if that takes a thread."""
    try:
        next(reading)
    except StopIteration as done:
        outcome: T = done.value
        return outcome
    reading.close()
    raise NotCached


async def on_threads(reading: Reading[T], broker: "Broker") -> T:
    """Return what is read, waiting for threads where it takes some."""
    try:
        job = next(reading)
        while True:
            try:
                outcome = await broker.read_on_thread(job)
            except (HeadwaterError, NotCached, OSError) as error:
                job = reading.throw(error)
            else:
                job = reading.send(outcome)
    except StopIteration as done:
        result: T = done.value
        return result
