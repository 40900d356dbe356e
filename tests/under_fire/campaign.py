"""One run: feed, pipeline and servers of views at work, accidents among them, a comparison at the end."""
# ruff: noqa: T201 - this is a program

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

import headwater
from headwater.client import Client
from headwater.errors import HeadwaterError
from rigs.apache_kafka import ApacheKafka
from rigs.headwater_process import HeadwaterProcess
from rigs.view_process import ViewProcess
from under_fire import outputs
from under_fire.accidents import Accidents
from under_fire.events import BROKEN_VALUES
from under_fire.feed import ACCOUNTS, EVENTS, Feed
from under_fire.oracle import Difference, Oracle
from under_fire.processes import Driver
from under_fire.report import Report

PARTITIONS: Final = 4
BATCHES: Final = 40
"""A query needs about so many batches for all events: kills fall between them and within them."""
STUCK_AFTER_S: Final = 600
TOLD_EVERY_S: Final = 5
ORIGIN: Final = ("headwater.topic", "headwater.partition", "headwater.offset")


class Campaign:
    def __init__(
        self, log: HeadwaterProcess | ApacheKafka, folder: Path, seed: int, events: int
    ) -> None:
        self._log = log
        self._folder = folder
        self._seed = seed
        self._events = events
        self._driver = Driver(folder, log.bootstrap, batch=max(10_000, events // BATCHES))
        self._feed = Feed(log.bootstrap, seed, events, self._driver.read)
        self._follower, self._server = (
            ViewProcess(log.bootstrap, folder / name) for name in ("follower", "server")
        )
        self._accidents = Accidents(seed, log, self._driver, self._follower, self._server)
        self._began_s = time.monotonic()
        self._told_s = 0.0

    def run(self, kills: int) -> Report:
        with ExitStack() as stack:
            stack.callback(self._driver.close)
            client = stack.enter_context(headwater.connect(self._log.bootstrap, timeout_s=60))
            self._prepare(client)
            for each in (self._follower, self._server):
                stack.enter_context(each)
            stack.enter_context(_asking(self._log.bootstrap, self._server.url))
            self._driver.start()
            self._feed.start()
            for after, kind in self._accidents.plan(kills, self._events):
                self._wait(lambda after=after: self._driver.read() >= after)
                self._tell(f"kill -9: {kind}", now=True)
                self._accidents.happen(kind)
            self._wait(lambda: self._driver.is_done(self._events))
            self._feed.join()
            assert self._driver.stop() == 0, "the driver did not end as it was told"
            self._tell("all is read", now=True)
            return self._compare()

    def _prepare(self, client: Client) -> None:
        client.admin.topics.create(EVENTS, partitions=PARTITIONS)
        client.admin.topics.create(
            ACCOUNTS, partitions=PARTITIONS, configs={"cleanup.policy": "compact"}
        )
        self._feed.send_accounts(self._seed)

    def _wait(self, condition: Callable[[], bool]) -> None:
        """Until it is so; a run that stands still for long fails."""
        seen, since_s = self._driver.read(), time.monotonic()
        while not condition():
            self._driver.check()
            if self._feed.error is not None:
                raise self._feed.error
            now = self._driver.read()
            if now != seen:
                seen, since_s = now, time.monotonic()
            if time.monotonic() - since_s > STUCK_AFTER_S:
                log = self._driver.log.read_text(errors="replace").splitlines()[-30:]
                raise AssertionError("nothing is read any more:\n" + "\n".join(log))
            self._tell("")
            time.sleep(0.1)

    def _tell(self, what: str, *, now: bool = False) -> None:
        at_s = time.monotonic() - self._began_s
        if now or at_s - self._told_s >= TOLD_EVERY_S:
            self._told_s = at_s
            read = min(self._driver.read(), self._events)
            print(
                f"{at_s:6.0f} s  {self._feed.sent:>10,} sent {read:>10,} read  {what}", flush=True
            )

    def _compare(self) -> Report:
        report = Report(dict(self._accidents.counts))
        bootstrap = self._log.bootstrap
        with Oracle(self._seed, self._events) as oracle:
            purchases = outputs.records(bootstrap, "fire.purchases")
            report.add(
                "topic fire.purchases",
                oracle.compare("purchases", outputs.parsed("purchases", purchases)),
            )
            for view in ("revenue", "totals"):
                written = outputs.records(bootstrap, f"fire.{view}")
                last = outputs.parsed(view, outputs.latest(written))
                report.add(f"topic fire.{view}, last of each key", oracle.compare(view, last))
                twice = Difference(written.num_rows, 0, outputs.told_twice(written), 0)
                report.add(f"topic fire.{view}, all changes", twice)
                for name, process in (("follower", self._follower), ("server", self._server)):
                    with headwater.connect(bootstrap, views=process.url, timeout_s=60) as client:
                        found = outputs.served(client, view, written)
                    report.add(f"view fire.{view}, {name}", oracle.compare(view, found))
            report.add("topic fire.events.dead, distinct", self._dead_letters(oracle.broken))
        return report

    def _dead_letters(self, broken: int) -> Difference:
        """Each unreadable value by its origin; each query reads it, and may read it again."""
        letters = outputs.records(self._log.bootstrap, f"{EVENTS}.dead").to_pylist()
        origins = {
            tuple(e["value"] for e in each["headers"] if e["key"] in ORIGIN): each["value"]
            for each in letters
        }
        other = sum(value not in BROKEN_VALUES for value in origins.values())
        lost, more = max(0, broken - len(origins)), max(0, len(origins) - broken)
        return Difference(len(origins), lost, more, other)


class _asking:  # noqa: N801 - a context manager that reads like a verb
    """Somebody asks a server of views all the time; an answer is never less than one before it."""

    def __init__(self, bootstrap: str, url: str) -> None:
        self._client = headwater.connect(bootstrap, views=url, timeout_s=10)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._most = 0

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._client.close()

    def _ask(self) -> None:
        view = self._client.view("fire.totals")
        while not self._is_over.wait(0.05):
            with suppress(HeadwaterError):
                ((events,),) = view.query("SELECT coalesce(sum(events), 0) FROM totals").rows
                assert events >= self._most, f"{events} events now, {self._most} before"
                self._most = events
