"""How long syncs take in a campaign of power cuts: no time, or long enough for the next request to come."""

from collections.abc import Callable
from random import Random
from typing import Final

SECONDS: Final = (0, 0, 0.001, 0.003)


def uneven(random: Random) -> Callable[[], float]:
    """Syncs come from many threads: they must not disturb what `random` decides in the test's own."""
    own = Random(random.random())
    return lambda: own.choice(SECONDS)
