"""The time on the clock of this machine, with the rules of its zone.

`datetime.astimezone()` keeps only the offset of one moment: what it says in winter is wrong for a date in
summer.
"""

import time
from datetime import datetime, timedelta, tzinfo

from headwater.clock import Clock


class LocalZone(tzinfo):
    """The zone of this machine: each moment has the offset of its own day."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        if moment is None:
            return None
        try:
            return moment.replace(tzinfo=None).astimezone().utcoffset()
        except (OverflowError, ValueError, OSError):  # years that the system has no calendar for
            return timedelta(seconds=-time.timezone)

    def dst(self, moment: datetime | None) -> timedelta | None:  # noqa: ARG002
        return None

    def tzname(self, moment: datetime | None) -> str:  # noqa: ARG002
        return "local"


def local_now(clock: Clock) -> datetime:
    """Now; dates that are made of it (`replace`, `+ timedelta`) are local dates as well."""
    seconds, milliseconds = divmod(clock.now_ms(), 1000)
    wall = datetime.fromtimestamp(seconds)  # noqa: DTZ006  its `fold` tells an hour that comes twice
    return wall.replace(microsecond=milliseconds * 1000, tzinfo=LocalZone())
