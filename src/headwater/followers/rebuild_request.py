"""The wish that a view is built again, from any thread, until the follower has fulfilled it."""

import threading


class RebuildRequest:
    """Reason and wish change together: neither may be taken for the rest of an earlier request."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reason = ""
        self._wants_new_build = False

    def make(self, reason: str) -> None:
        """Have what is served replaced by a build that begins after this."""
        with self._lock:
            self._reason, self._wants_new_build = reason, True

    def carry_on(self, reason: str) -> None:
        """Have it replaced by a build that has begun already."""
        with self._lock:
            self._reason = self._reason or reason

    def take(self) -> tuple[str, bool]:
        """Why what is served is to be replaced, if it is, and whether by a build that is still to begin."""
        with self._lock:
            wants_new_build, self._wants_new_build = self._wants_new_build, False
            return self._reason, wants_new_build

    def fulfil(self) -> None:
        """What was taken last is done; what was asked for since then is not."""
        with self._lock:
            if not self._wants_new_build:
                self._reason = ""
