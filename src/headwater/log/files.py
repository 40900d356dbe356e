"""Who may touch the names in a partition's directory, and until when."""

from threading import RLock
from types import TracebackType

from headwater.errors import StorageFailed


class LogFiles:
    """Held while files are replaced or removed by name, on whatever thread; never after a deletion."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._is_abandoned = False

    def abandon(self) -> None:
        """Let nobody in any more, and wait for who is inside."""
        self._is_abandoned = True  # Before the wait: who takes it again and again would never end.
        with self._lock:
            pass

    def __enter__(self) -> None:
        self._lock.acquire()
        if self._is_abandoned:
            self._lock.release()
            raise StorageFailed("the log was closed meanwhile, or its topic was deleted")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lock.release()
