"""A thread that reads and collapses the next changes while the last ones are stored."""

import queue
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from headwater.followers.changelog import Changelog
from headwater.followers.changes import Changes, Poll

_WAIT_S = 0.1


class ReadAhead:
    """At most one poll waits while another is stored: memory is bounded, and both threads are busy."""

    def __init__(self, changelog: Changelog, collapse: Callable[[Poll], Changes]) -> None:
        self._changelog = changelog
        self._collapse = collapse
        self._ready: queue.Queue[Changes | Exception] = queue.Queue(maxsize=1)
        self._is_closing = threading.Event()
        self._thread = threading.Thread(target=self._read, name="headwater-read-ahead", daemon=True)

    def next(self, max_wait_s: float) -> Changes | None:
        """The next changes in order; raises what reading them raised."""
        try:
            found = self._ready.get(timeout=max_wait_s)
        except queue.Empty:
            return None
        if isinstance(found, Exception):
            raise found
        return found

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_closing.set()
        self._thread.join()
        self._changelog.close()

    def _read(self) -> None:
        while not self._is_closing.is_set():
            try:
                poll = self._changelog.poll(_WAIT_S)
                found: Changes | Exception = self._collapse(poll)
            except Exception as error:  # noqa: BLE001  raised again by `next`
                found = error
            self._hand_over(found)
            if isinstance(found, Exception):
                return

    def _hand_over(self, found: Changes | Exception) -> None:
        while not self._is_closing.is_set():
            try:
                self._ready.put(found, timeout=_WAIT_S)
            except queue.Full:
                continue
            return
