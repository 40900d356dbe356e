"""A real broker in this process: its own event loop on a thread, its own directory, a random port."""

import asyncio
import shutil
import tempfile
import threading
import weakref
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from headwater.broker.broker import Broker as EmbeddedBroker
from headwater.broker.server import Server
from headwater.broker.topic_configs import check_config
from headwater.broker.topics import MOST_PARTITIONS, check_topic_name
from headwater.clock import Clock, SystemClock
from headwater.config import resolve
from headwater.errors import Conflict, InvalidRequest
from headwater.log.disk import Disk, LocalDisk
from headwater.testing.clock import SettableClock
from headwater.testing.topic import Topic

T = TypeVar("T")


class Broker:
    """A broker for the length of a `with` block; any Kafka client can use it.

    Keyword arguments are the settings of `headwater serve` (`num_partitions=4`, ...). Without `data` it
    lives in a temporary directory that goes with it; with `data` it can be started again there.

    >>> with Broker() as broker:
    ...     broker.create_topic("orders", partitions=2)
    ...     broker.bootstrap.startswith("127.0.0.1:")
    True
    """

    def __init__(
        self,
        *,
        data: Path | str | None = None,
        clock: Clock | None = None,
        disk: Disk | None = None,
        **settings: Any,
    ) -> None:
        self.data = Path(data or tempfile.mkdtemp(prefix="headwater-"))
        if data is None:
            self._remove_data = weakref.finalize(self, shutil.rmtree, self.data, ignore_errors=True)
        self._is_temporary = data is None
        self._clock = clock or SystemClock()
        self._disk = disk or LocalDisk()
        self._settings = {"listen": "127.0.0.1:0", **settings}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def bootstrap(self) -> str:
        """The address for `bootstrap.servers`."""
        return self._running().address

    @property
    def port(self) -> int:
        return int(self.bootstrap.rpartition(":")[2])

    @property
    def embedded(self) -> EmbeddedBroker:
        """The broker itself; use it only inside `call`."""
        return self._running().broker

    def start(self) -> Self:
        """Start and return once clients can connect; nothing happens if it is running.

        Raises `Conflict` if another broker uses the same data, `Unavailable` if the port is taken.
        """
        if self._server is not None:
            return self
        settings = resolve({**self._settings, "data": str(self.data)}, {}).settings
        server = Server(EmbeddedBroker(settings, self._disk, self._clock))
        started: threading.Event = threading.Event()
        failure: list[BaseException] = []
        loop = asyncio.new_event_loop()

        def run() -> None:
            try:
                loop.run_until_complete(server.start())
            except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
                failure.append(error)
            started.set()
            if not failure:
                loop.run_forever()
            loop.close()

        self._thread = threading.Thread(target=run, name="headwater-broker", daemon=True)
        self._thread.start()
        started.wait()
        if failure:
            self._thread.join()
            raise failure[0]
        self._loop, self._server = loop, server
        self._settings["listen"] = server.bound_address
        if isinstance(self._clock, SettableClock):
            self._clock.follow(self._on_time_moved)
        return self

    def stop(self) -> None:
        """Shut down cleanly; what was stored stays where `data` is. Stopping twice is no error."""
        if self._server is not None:
            self.call(self._server.stop)
            self._end_loop()

    def kill(self) -> None:
        """Stop as `kill -9` would: connections break, and the next start has to recover."""
        if self._server is not None:
            self.call(_abandon, self._server)
            self._end_loop()

    def restart(self) -> None:
        """Stop cleanly and start again, on the same data and the same port."""
        self.stop()
        self.start()

    def create_topic(self, name: str, *, partitions: int = 1, **configs: object) -> None:
        """Create a topic; `cleanup_policy="compact"` sets `cleanup.policy`.

        Raises `Conflict` if it exists, `InvalidRequest` for a name or a config that Kafka would refuse.
        """
        check_topic_name(name)
        if not 1 <= partitions <= MOST_PARTITIONS:
            raise InvalidRequest(f"a topic has 1 to {MOST_PARTITIONS} partitions, not {partitions}")
        chosen = {key.replace("_", "."): _shown(value) for key, value in configs.items()}
        for key, value in chosen.items():
            check_config(key, value)
        self.call(self.embedded.topics.create, name, partitions, chosen)

    def topic(self, name: str) -> Topic:
        """Return a topic for assertions on what it holds.

        >>> with Broker() as broker:
        ...     broker.create_topic("orders")
        ...     broker.topic("orders").values()
        []
        """
        return Topic(name, self.embedded, self.call)

    def call(self, function: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Run a coroutine function on the broker's event loop and return its result."""
        self._running()
        assert self._loop is not None

        async def run() -> T:
            return await function(*args)

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result()

    def _running(self) -> Server:
        if self._server is None:
            raise Conflict(
                "the broker is not running", hint="use it in a `with` block, or call start()"
            )
        return self._server

    def _on_time_moved(self) -> None:
        if (
            threading.current_thread() is self._thread
        ):  # inside of `call`, which cannot wait for itself
            self.embedded.run_in_background(self.embedded.catch_up_with_the_clock())
        else:
            self.call(self.embedded.catch_up_with_the_clock)

    def _end_loop(self) -> None:
        assert self._loop is not None
        assert self._thread is not None
        if isinstance(self._clock, SettableClock):
            self._clock.unfollow(self._on_time_moved)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._server = self._loop = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
        if self._is_temporary:
            self._remove_data()


async def _abandon(server: Server) -> None:
    """Let go of sockets, files and lock, and break off everything that still runs on this loop."""
    await server.abandon()
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for each in tasks:
        each.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
