"""A counter on stderr for long work, for a person at a terminal; silent otherwise."""

import sys

from headwater.cli.output import Output
from headwater.clock import Clock, SystemClock

_INTERVAL_S = 0.1


class Progress:
    """`advance` after each piece of work, `finish` at the end."""

    def __init__(self, output: Output, what: str, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._what = what
        self._is_shown = sys.stderr.isatty() and not output.is_quiet
        self._started = self._clock.monotonic_s()
        self._shown_at = 0.0
        self.count = 0

    def advance(self, count: int) -> None:
        self.count += count
        now = self._clock.monotonic_s()
        if self._is_shown and now - self._shown_at >= _INTERVAL_S:
            self._shown_at = now
            per_second = self.count / max(now - self._started, 0.001)
            sys.stderr.write(f"\r{self._what} {self.count:,} records, {per_second:,.0f}/s ")
            sys.stderr.flush()

    def finish(self) -> None:
        if self._is_shown and self._shown_at:
            sys.stderr.write("\r\033[K")
