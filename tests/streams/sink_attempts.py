"""Attempts to write, each in a process of its own that may be told where to die.

Processes are forked from a server that has all modules loaded and no threads, so an attempt starts at once.
"""

import multiprocessing
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.process import BaseProcess
from typing import Any, Final

import pyarrow as pa

from headwater.bulk.transactional_producer import TransactionalProducer
from headwater.errors import HeadwaterError
from headwater.streams.sink import atomic_writer, task_writer
from headwater.streams.sink.marker import Writer
from headwater.streams.sink.options import SinkOptions
from headwater.streams.sink.transaction import Transactions

ROWS: Final = pa.schema([("key", pa.binary()), ("value", pa.binary())])

TASK_POINTS: Final = (
    "after it took over",
    "in the middle of its rows",
    "before it commits",
    "between the marker and the commit",
    "after it committed",
)
PART_POINTS: Final = ("after a part", "in the middle of the next part")
STAGED_POINTS: Final = ("before it removes what was staged",)


@dataclass(frozen=True)
class Attempt:
    """One attempt at one task of a batch, or at the commit of an atomic batch."""

    bootstrap: str
    topic: str
    query_id: str
    batch_id: int = 0
    task: int = 0
    values: Sequence[Sequence[bytes]] = ()
    """The rows, Arrow batch by Arrow batch."""
    staged: Sequence[str] | None = None
    options: dict[str, str] = field(default_factory=dict)
    parts: bool = False
    """Whether each Arrow batch is committed as a part, as if it took long."""
    dies: str | None = None
    stops: str | None = None

    def sink_options(self) -> SinkOptions:
        given = {"kafka.bootstrap.servers": self.bootstrap, "topic": self.topic, **self.options}
        return SinkOptions.of(given, is_stream=True)

    def rows(self) -> list[pa.RecordBatch]:
        return [
            pa.RecordBatch.from_pylist(
                [{"key": b"k", "value": each} for each in batch], schema=ROWS
            )
            for batch in self.values
        ]

    def run(self) -> Any:
        """Here and now, in this process."""
        if self.staged is not None:
            writer = Writer(self.query_id)
            return atomic_writer.commit_batch(
                self.staged, self.sink_options(), writer, self.batch_id
            )
        writer = Writer(self.query_id, self.task)
        return task_writer.write_task(self.rows(), self.sink_options(), writer, self.batch_id)

    def start(self) -> BaseProcess:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__])
        process = context.Process(target=_run, args=(self,))
        process.start()
        return process

    def run_and_die(self) -> None:
        """In a process that must not survive its point."""
        process = self.start()
        process.join(60)
        assert process.exitcode == -signal.SIGKILL, f"it ended with {process.exitcode}"

    def again(self, **changes: Any) -> "Attempt":
        """The same, without an accident unless told otherwise."""
        return replace(self, **{"dies": None, "stops": None, **changes})


def _run(attempt: Attempt) -> None:
    for point, act in ((attempt.dies, signal.SIGKILL), (attempt.stops, signal.SIGSTOP)):
        if point is not None:
            _arm(point, act)
    if attempt.parts:
        task_writer.LONGEST_PART_S = -1.0
    try:
        attempt.run()
    except HeadwaterError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        os._exit(3)
    os._exit(0)


def _arm(point: str, act: signal.Signals) -> None:
    """Let this process meet its end at a point: before or after a call that every attempt makes."""
    where: dict[str, tuple[Any, str, str, int]] = {
        "after it took over": (Transactions, "__init__", "after", 1),
        "in the middle of its rows": (Transactions, "write", "after", 2),
        "before it commits": (Transactions, "commit", "before", 1),
        "between the marker and the commit": (TransactionalProducer, "commit", "before", 1),
        "after it committed": (Transactions, "commit", "after", 1),
        "after a part": (Transactions, "commit", "after", 2),
        "in the middle of the next part": (Transactions, "write", "after", 3),
        "before it removes what was staged": (atomic_writer.Staging, "remove_batches", "before", 1),
    }
    owner, name, side, nth = where[point]
    _wrap(owner, name, side, nth, act)


def _wrap(owner: Any, name: str, side: str, nth: int, act: signal.Signals) -> None:
    original = getattr(owner, name)
    calls = 0

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if side == "before" and calls == nth:
            _leave_to_the_broker(args)
            os.kill(os.getpid(), act)
        result = original(*args, **kwargs)
        if side == "after" and calls == nth:
            _leave_to_the_broker(args)
            os.kill(os.getpid(), act)
        return result

    setattr(owner, name, wrapped)


def _leave_to_the_broker(args: tuple[Any, ...]) -> None:
    """What was written so far is on the broker when the process goes: the harder case."""
    if args and isinstance(args[0], Transactions):
        args[0]._producer.flush()
