"""What goes wrong: each kind of process is killed so many times, at places that follow from the seed."""

import time
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Final

from rigs.apache_kafka import ApacheKafka
from rigs.headwater_process import HeadwaterProcess
from rigs.view_process import ViewProcess
from under_fire.processes import Driver

KINDS: Final = ("broker", "driver", "task", "follower", "server")
LONGEST_PAUSE_S: Final = 2.0


class Accidents:
    """Followers and their server are one process: there are two of them, and only one is asked."""

    def __init__(
        self,
        seed: int,
        log: HeadwaterProcess | ApacheKafka,
        driver: Driver,
        follower: ViewProcess,
        server: ViewProcess,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._random = Random(seed)
        self._log = log
        self._driver = driver
        self._views = {"follower": follower, "server": server}

    def plan(self, times: int, events: int) -> list[tuple[int, str]]:
        """When (after so many events were read), and to whom."""
        kinds = [*KINDS] * times
        self._random.shuffle(kinds)
        step = events / (len(kinds) + 1)
        return [
            (int(step * (place + self._random.random())), kind)
            for place, kind in enumerate(kinds, 1)
        ]

    def happen(self, kind: str) -> None:
        self.counts[kind] += 1
        happening: dict[str, Callable[[], None]] = {
            "broker": self._broker,
            "driver": self._of_the_driver,
            "task": self._task,
        }
        happening.get(kind, lambda: self._view(kind))()

    def _broker(self) -> None:
        self._log.kill()
        self._pause()
        self._log.restart()

    def _of_the_driver(self) -> None:
        self._driver.kill(self._random.choice(["python", "jvm"]))
        self._pause()
        self._driver.start()

    def _task(self) -> None:
        while not self._driver.kill_worker(self._random.randrange(100)):
            self._driver.check()
            time.sleep(0.05)

    def _view(self, kind: str) -> None:
        self._views[kind].kill()
        self._pause()
        self._views[kind].start()

    def _pause(self) -> None:
        time.sleep(self._random.random() * LONGEST_PAUSE_S)
