"""A clock that is told what time it is."""

import pytest

from headwater.testing import SettableClock


def test_it_stands_still_until_it_is_moved() -> None:
    clock = SettableClock(now_ms=5_000)
    assert (clock.now_ms(), clock.monotonic_s()) == (5_000, 0.0)
    clock.advance(seconds=1.5)
    assert (clock.now_ms(), clock.monotonic_s()) == (6_500, 1.5)


def test_a_jump_moves_the_wall_clock_only() -> None:
    clock = SettableClock(now_ms=5_000)
    clock.advance(seconds=1)
    clock.jump_to(100)
    assert (clock.now_ms(), clock.monotonic_s()) == (100, 1.0)


def test_time_does_not_pass_backwards() -> None:
    with pytest.raises(ValueError, match="backwards"):
        SettableClock().advance(seconds=-1)
