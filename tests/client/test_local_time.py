"""A time without a zone means the clock on the wall of its own day, summer or winter."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from headwater.client.local_time import local_now
from headwater.client.offset_range import At, parse_position
from headwater.testing import SettableClock

WINTER = datetime(2026, 11, 18, 15, tzinfo=UTC)
AFTER_THE_CHANGE = datetime(2026, 10, 25, 6, tzinfo=UTC)
"""07:00 in Berlin, whose clocks went back at 03:00."""
IN_AN_HOUR_THAT_COMES_TWICE = datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
"""02:30 in Berlin, for the second time."""


@pytest.fixture(autouse=True)
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


@pytest.mark.parametrize(
    ("now", "text", "moment"),
    [
        (WINTER, "@2026-07-01T09:00", datetime(2026, 7, 1, 7, tzinfo=UTC)),
        (WINTER, "@2026-07-01", datetime(2026, 6, 30, 22, tzinfo=UTC)),
        (WINTER, "@2026-12-01T09:00", datetime(2026, 12, 1, 8, tzinfo=UTC)),
        (WINTER, "@2026-07-01T09:00Z", datetime(2026, 7, 1, 9, tzinfo=UTC)),
        (WINTER, "@09:00", datetime(2026, 11, 18, 8, tzinfo=UTC)),
        (WINTER, "@-1h", datetime(2026, 11, 18, 14, tzinfo=UTC)),
        (AFTER_THE_CHANGE, "@01:00", datetime(2026, 10, 24, 23, tzinfo=UTC)),
        (AFTER_THE_CHANGE, "@08:00", datetime(2026, 10, 24, 6, tzinfo=UTC)),
        (IN_AN_HOUR_THAT_COMES_TWICE, "@-1m", datetime(2026, 10, 25, 1, 29, tzinfo=UTC)),
        (WINTER, "@9999-12-31", datetime(9999, 12, 30, 23, tzinfo=UTC)),
    ],
)
def test_a_time_without_a_zone_has_the_offset_of_its_own_day(
    now: datetime, text: str, moment: datetime
) -> None:
    clock = SettableClock(milliseconds(now))
    assert parse_position(text, now=local_now(clock)) == At(milliseconds(moment))
