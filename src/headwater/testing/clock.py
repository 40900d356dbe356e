"""A clock that stands still until it is told otherwise."""

import threading


class SettableClock:
    """Pass it to a `Broker`, then move time by hand.

    >>> clock = SettableClock(now_ms=1_000)
    >>> clock.advance(seconds=2)
    >>> clock.now_ms()
    3000
    """

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = now_ms
        self._monotonic_s = 0.0
        self._lock = threading.Lock()

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

    def jump_to(self, now_ms: int) -> None:
        """Set the wall clock, forwards or backwards, as an operator or NTP may do."""
        with self._lock:
            self._now_ms = now_ms
