"""A clock that stands still until it is told otherwise."""

import threading
import time
from collections.abc import Callable


class SettableClock:
    """Pass it to a `Broker`, then move time by hand; it begins in the present, as clients do.

    A broker has done what fell due, retention for example, when `advance` or `jump_to` returns.

    >>> clock = SettableClock(now_ms=1_000)
    >>> clock.advance(seconds=2)
    >>> clock.now_ms()
    3000
    """

    def __init__(self, now_ms: int | None = None) -> None:
        self._now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
        self._monotonic_s = 0.0
        self._lock = threading.Lock()
        self._followers: list[Callable[[], None]] = []

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic_s(self) -> float:
        return self._monotonic_s

    def advance(self, *, seconds: float) -> None:
        """Let time pass, on both clocks."""
        if seconds < 0:
            raise ValueError("time does not pass backwards; jump_to moves the wall clock")
        with self._lock:
            self._now_ms += round(seconds * 1000)
            self._monotonic_s += seconds
        self._tell()

    def jump_to(self, now_ms: int) -> None:
        """Set the wall clock, forwards or backwards, as an operator or NTP may do."""
        with self._lock:
            self._now_ms = now_ms
        self._tell()

    def follow(self, on_move: Callable[[], None]) -> None:
        """Have something called whenever time was moved."""
        self._followers.append(on_move)

    def unfollow(self, on_move: Callable[[], None]) -> None:
        self._followers.remove(on_move)

    def _tell(self) -> None:
        for each in list(self._followers):
            each()
