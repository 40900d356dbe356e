"""The topics of the workload: values are appended to `lists`, and groups make `derived` of them."""

from typing import Final

from histories.history import Partition

LISTS: Final[tuple[Partition, ...]] = tuple(("lists", index) for index in range(4))
DERIVED: Final[tuple[Partition, ...]] = tuple(("derived", index) for index in range(2))
ALL: Final = LISTS + DERIVED
SHARED_GROUP: Final = "shared"
"""The group that several writers share, by subscription; others read all of `lists` on their own."""
