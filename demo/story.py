"""The story of the demo, step by step: open, kill the broker, kill Spark, close, compare."""

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Protocol, TypeVar

import headwater as hw
from demo.branches import WATCHED, Branches, Ledger
from demo.oracle import Comparison
from demo.processes import HeadwaterProcess
from demo.progress import READS, Progress, Statuses, are_under_way, has_read, have_moved
from demo.readers import Readers
from demo.screen import Screen, Sight
from demo.verdict import comparisons, readings
from headwater.client import Client, Views
from headwater.client.view_address import find_view_address
from headwater.templates.shop.feed import create_topics

MINUTES: Final = int(os.environ.get("MINUTES", "120"))
"""How long the shop is open, in its own time."""
VISITORS: Final = int(os.environ.get("VISITORS", "400"))
"""In a minute, for each branch; a visitor makes about two events."""
PACE_S: Final = float(os.environ.get("PACE_S", "0.5"))
BRANCHES: Final = 3
PARTITIONS: Final = 3
PATIENCE_S: Final = 600.0
"""For any one step: whoever needs longer is stuck."""


class Running(Protocol):
    def start(self) -> None: ...
    def stop(self) -> None: ...


Started = TypeVar("Started", bound=Running)


class Story:
    """What happens, in order; `closing` ends in reverse what it has begun."""

    _address: str
    _client: Client
    _progress: Progress
    _readers: Readers
    _views: Views
    _url: str
    _branches: Branches

    def __init__(self, folder: Path, screen: Screen, closing: ExitStack) -> None:
        self._screen = screen
        self._closing = closing
        self._broker = HeadwaterProcess(
            folder, "broker", "serve", "--http", "", "--log-level", "error"
        )
        self._view_server = HeadwaterProcess(
            folder, "view server", "view", "serve", "--http", "127.0.0.1:0"
        )
        self._pipeline = HeadwaterProcess(folder, "pipeline", "pipeline", "run")
        self._ledger = Ledger()

    def tell(self) -> list[tuple[str, Comparison]]:
        """All of it; returns what came out beside what should have."""
        self._open()
        self._branches.allow(MINUTES * 3 // 10, PACE_S)
        self._reach(MINUTES * 3 // 10)
        # Spark may not be there yet: go on slowly, so that it finds something to do.
        self._branches.allow(MINUTES * 6 // 10, 8 * PACE_S)
        self._until("every query has done a batch", are_under_way)
        late = self._branches.send_yesterday()
        self._screen.say(f"a phone was offline for a day: {late} events, too late for everybody")
        self._branches.allow(MINUTES * 6 // 10, PACE_S)
        self._reach(MINUTES * 45 // 100)
        self._kill_broker()
        self._reach(MINUTES * 6 // 10)
        self._branches.allow(MINUTES, PACE_S)
        self._reach(MINUTES * 7 // 10)
        self._kill_pipeline()
        self._reach(MINUTES)
        self._screen.say(f"the shop closes: {len(self._ledger.sent):,} events were sent")
        self._drain()
        self._screen.say("everything is processed; comparing with SQL over the same events")
        return [
            *readings(self._ledger, self._readers),
            *comparisons(self._client, self._views, self._ledger),
        ]

    def go_on(self) -> str:
        """Open again, at an easy pace; returns where everything is."""
        self._branches.allow(1_000_000, 1.0)
        return "\n".join(
            (
                "the shop is open again; Ctrl-C ends everything",
                f"  Kafka   {self._address}",
                f"  views   {self._url}  (interface: {self._url}/openapi.json)",
                f"  curl '{self._url}/v1/views'",
                f"  curl '{self._url}/v1/views/shop.revenue/rows?limit=3'",
                f"  curl -N '{self._url}/v1/views/shop.top_sellers/subscribe'",
                f"  headwater topic tail shop.orders --bootstrap {self._address}",
                f"  headwater pipeline list --bootstrap {self._address}",
            )
        )

    def _open(self) -> None:
        began_s = time.monotonic()
        self._start(self._broker, "--listen", "127.0.0.1:0")
        self._address = self._broker.address("kafka")
        self._screen.say(f"broker at {self._address} after {time.monotonic() - began_s:.1f} s")
        self._client = self._closing.enter_context(hw.connect(self._address, timeout_s=PATIENCE_S))
        create_topics(self._client, PARTITIONS)
        self._start(self._pipeline)
        self._start(self._view_server)
        self._progress = self._run(Progress(self._address))
        self._readers = self._run(Readers(self._address, WATCHED))
        self._url = self._view_server.address("http")
        self._views = self._closing.enter_context(Views(find_view_address(self._url)))
        self._screen.say(f"views at {self._url}; Spark is starting")
        self._branches = Branches(self._address, self._ledger, branches=BRANCHES, visitors=VISITORS)
        self._screen.look_at(
            Sight(self._branches, self._ledger, self._readers, self._progress, self._views)
        )
        self._run(self._branches)
        members = len(self._readers.members)
        self._screen.say(f"{BRANCHES} producers and {members} consumers in two groups are at work")

    def _kill_broker(self) -> None:
        before = self._progress.statuses
        self._broker.kill()
        began_s = time.monotonic()
        self._broker.start("--listen", self._address)
        self._broker.address("kafka")
        seconds = time.monotonic() - began_s
        self._screen.say(f"[red]broker killed (SIGKILL)[/], back after {seconds:.1f} s")
        self._until("every query goes on", lambda found: have_moved(found, before))

    def _kill_pipeline(self) -> None:
        before = self._progress.statuses
        self._pipeline.kill()
        self._progress.forget()
        self._pipeline.start()
        self._screen.say("[red]Spark killed (SIGKILL)[/], driver and workers; started again")
        self._until("every query goes on", lambda found: have_moved(found, before))

    def _drain(self) -> None:
        """Wait until every query has read all that its topics hold, downstream after upstream."""
        for query, topics in READS.items():
            for topic in topics:
                ends = self._client.admin.topics.ends(topic, range(self._partitions(topic)))
                self._until(
                    f"{query} has read {topic}",
                    lambda found, query=query, topic=topic, ends=ends: has_read(
                        found.get(query), topic, ends
                    ),
                )

    def _partitions(self, topic: str) -> int:
        return len(self._client.admin.topics.describe(topic).partitions)

    def _until(self, what: str, condition: Callable[[Statuses], bool]) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while not self._progress.wait_for(condition, patience_s=1):
            self._refuse_if_broken(f"until {what}", deadline_s)

    def _reach(self, minute: int) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while not self._branches.wait_for(minute, patience_s=1):
            self._refuse_if_broken(f"for minute {minute} of the shop", deadline_s)

    def _refuse_if_broken(self, what: str, deadline_s: float) -> None:
        for each in (self._broker, self._view_server, self._pipeline):
            each.refuse_if_ended()
        if time.monotonic() > deadline_s:
            found = self._progress.statuses.values()
            states = "; ".join(
                f"{each.query} {each.state}, watermark {each.watermark}, {each.error or 'no error'}"
                for each in found
            )
            raise TimeoutError(f"waited {PATIENCE_S:.0f} s {what}, in vain: {states}")

    def _start(self, process: HeadwaterProcess, *arguments: str) -> None:
        process.start(*arguments)
        self._closing.callback(process.stop)

    def _run(self, started: Started) -> Started:
        started.start()
        self._closing.callback(started.stop)
        return started
