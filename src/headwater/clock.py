"""Time as an argument: nothing else in Headwater asks the operating system what time it is."""

import time
from typing import Protocol


class Clock(Protocol):
    """Where time comes from; tests pass a settable one (`headwater.testing.SettableClock`)."""

    def now_ms(self) -> int:
        """Wall clock in milliseconds since the epoch; it may jump either way."""

    def monotonic_s(self) -> float:
        """Seconds that never go backwards, for timeouts."""


class SystemClock:
    """The operating system's clocks."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        return time.monotonic()
