"""A subscription as an iterator of changes: it reconnects by itself and goes on where it was."""

import http.client
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, repeat
from types import TracebackType
from typing import Any, Final, Literal, Self

from headwater.client.view_http import Event, EventStream, Parameters, ViewHttp, error_of
from headwater.errors import Unavailable
from headwater.views import View

Kind = Literal["snapshot", "upsert", "delete", "resync", "progress"]
_RETRY_S: Final = (0.05, 0.2, 0.5, 1.0)
_DOES_NOT_FIT: Final = (KeyError, ValueError, TypeError, ArithmeticError)


@dataclass(frozen=True, slots=True)
class Change:
    """One event of a subscription.

    `snapshot` is a row that was there at the beginning, `upsert` a row that is new or has changed,
    `delete` one that is gone. `resync` means: forget all rows, a snapshot follows. `progress` says
    that nothing else has happened up to `as_of`.
    """

    kind: Kind
    key: Mapping[str, Any] | None = None
    row: Mapping[str, Any] | None = None
    as_of: Mapping[int, int] | None = None
    """Partition -> next offset; None inside a snapshot."""
    id: str | None = None
    """Where to go on after this event: give it as `last_id`."""
    reason: str = ""
    """Of a resync."""


class Subscription:
    """Iterate it; close it, or leave its with-block, to end it. Use it from one thread.

    When the connection breaks, or the server cannot go on just now, it connects again and goes on
    with the next change. It raises `Unavailable` when that has not worked for the connection's timeout.
    """

    def __init__(
        self,
        server: ViewHttp,
        parameters: Parameters,
        describe: Callable[[], View],
        *,
        last_id: str | None,
        progress: bool,
    ) -> None:
        self._server = server
        self._parameters = parameters
        self._describe = describe
        self._view = describe()
        self._wants_progress = progress
        self._stream: EventStream | None = None
        self._is_closed = False
        self._is_in_snapshot = False
        self._is_reading = False
        self._patience = _Patience(server.timeout_s)
        self.last_id = last_id
        """The id of the last event that was handed out: where to go on."""

    @property
    def definition(self) -> View:
        """What the rows are rows of; after a resync it may have other columns."""
        return self._view

    def __iter__(self) -> Iterator[Change]:
        while self._connect():
            if self._is_in_snapshot:
                yield Change("resync", reason="the connection broke during the snapshot")
            yield from self._changes()

    def close(self) -> None:
        """May be called from another thread: the iteration then ends."""
        self._is_closed = True
        if self._stream is not None:
            self._stream.interrupt()
            if not self._is_reading:
                self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _connect(self) -> bool:
        """Whether there is a stream to read; there is none once this is closed."""
        while not self._is_closed:
            try:
                self._stream = self._server.stream(
                    "views",
                    self._view.name,
                    "subscribe",
                    parameters=self._parameters,
                    last_id=self.last_id,
                )
            except Unavailable as error:
                self._wait_a_little(error)
            else:
                # Who closed this meanwhile did not know of the stream that was under way.
                if not self._is_closed:
                    return True
                self._stream.close()
        return False

    def _changes(self) -> Iterator[Change]:
        """Until the connection ends, in whatever way."""
        assert self._stream is not None
        stream = self._stream
        events = iter(stream)
        trouble: Unavailable | None = Unavailable("the stream of changes ended before it began")
        try:
            while (event := self._next(events)) is not None:
                try:
                    change = self._change(event)
                except Unavailable as error:  # the server cannot go on, or has just gone
                    trouble = error
                    break
                trouble = None
                self._patience.renew()
                self._is_in_snapshot = change.kind == "snapshot"
                self.last_id = change.id
                if change.kind != "progress" or self._wants_progress:
                    yield change
        finally:
            stream.close()
        if trouble is not None:
            self._wait_a_little(trouble)

    def _wait_a_little(self, trouble: Unavailable) -> None:
        if not self._is_closed:
            self._patience.wait(trouble)

    def _next(self, events: Iterator[Event]) -> Event | None:
        self._is_reading = True
        try:
            return next(events, None)
        except (OSError, http.client.HTTPException, ValueError):
            return None  # broken off: connect again
        finally:
            self._is_reading = False

    def _change(self, event: Event) -> Change:
        data, as_of = event.data, _positions(event.id)
        match event.kind:
            case "snapshot":
                return Change("snapshot", self._typed(data["key"]), self._typed(data["row"]))
            case "change":
                key, row = self._typed(data["key"]), self._typed(data["row"])
                return Change(data["kind"], key, row, as_of, event.id)
            case "progress":
                return Change("progress", as_of=as_of, id=event.id)
            case "resync":
                self._view = self._describe()
                return Change("resync", reason=data["reason"])
        raise error_of(data)

    def _typed(self, row: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """A stream begins with the columns that the view has by then."""
        if row is None:
            return None
        try:
            return typed_row(self._view, row)
        except _DOES_NOT_FIT:
            self._view = self._describe()
        try:
            return typed_row(self._view, row)
        except _DOES_NOT_FIT as error:  # these were sent before they changed: connect again
            raise Unavailable(f"view {self._view.name!r} has other columns by now") from error


class _Patience:
    """Ever longer waits between attempts; they are over after so long without any success."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._deadline_s: float | None = None
        self._waits_s: Iterator[float] = iter(())

    def renew(self) -> None:
        self._deadline_s = None

    def wait(self, trouble: Unavailable) -> None:
        """Raises the trouble once there is no time left."""
        if self._deadline_s is None:
            self._deadline_s = time.monotonic() + self._timeout_s
            self._waits_s = chain(_RETRY_S, repeat(_RETRY_S[-1]))
        if time.monotonic() > self._deadline_s:
            raise trouble
        time.sleep(next(self._waits_s))


def typed_row(view: View, row: Mapping[str, Any]) -> dict[str, Any]:
    """JSON values as Python objects, by the types of their columns."""
    return {name: view.by_name[name].type.python(value) for name, value in row.items()}


def _positions(event_id: str | None) -> dict[int, int] | None:
    if event_id is None:
        return None
    pairs = (each.split(":") for each in event_id.partition("@")[0].split(","))
    return {int(partition): int(offset) for partition, offset in pairs}
