"""How many files logs hold open: where they run short, logs that nobody uses give theirs back.

A log that gives way is closed as at a clean stop, and opens again on its next use. Which one: the hand goes
around, and whoever was not used since it came by the last time.
"""

import resource
import sys
from collections import OrderedDict
from typing import Final

from headwater.broker.partition import Partition
from headwater.broker.traffic import Traffic
from headwater.log.disk import Disk

FEWEST_LEFT: Final = 64
CLOSED_AT_ONCE: Final = 8
LOOKED_AT: Final = 64
"""To look at all of them each time would take longer than to open one."""


class OpenLogs:
    """The open logs of topics, in the order in which they are looked at."""

    def __init__(self, disk: Disk, traffic: Traffic) -> None:
        self.disk = disk
        self._traffic = traffic
        self._most_files = _most_files()
        self._open: OrderedDict[Partition, None] = OrderedDict()

    def make_room(self) -> None:
        """Close some logs if there are too many files open; call before one is opened that stays open."""
        if self.disk.open_files + self._traffic.connections >= self._most_files:
            self._close_some()

    def add(self, partition: Partition) -> None:
        self._open[partition] = None

    def forget(self, partition: Partition) -> None:
        """Its topic is deleted: its files take up space until nobody holds it."""
        self._open.pop(partition, None)

    def _close_some(self) -> None:
        closed = 0
        for _ in range(min(LOOKED_AT, len(self._open))):
            partition, _ = self._open.popitem(last=False)
            if not partition.rest():
                self._open[partition] = None
            elif (closed := closed + 1) == CLOSED_AT_ONCE:
                return


def _most_files() -> int:
    """What the system allows, but for some that come and go: connections, syncs, files written anew."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if files == resource.RLIM_INFINITY else files - max(FEWEST_LEFT, files // 10)
