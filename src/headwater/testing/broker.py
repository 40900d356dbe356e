"""A real broker in this process: its own event loop on a thread, its own directory, a random port."""

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from headwater.broker.broker import Broker as EmbeddedBroker
from headwater.broker.server import Server
from headwater.clock import Clock, SystemClock
from headwater.config import BrokerSettings
from headwater.log.disk import Disk, LocalDisk

T = TypeVar("T")


class Broker:
    """A broker for the length of a `with` block; any Kafka client can use it.

    Keyword arguments are the settings of `headwater serve` (`num_partitions=4`, ...). Without `data` it
    lives in a temporary directory that goes with it; with `data` it can be started again there.

    >>> with Broker() as broker:
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
        self._is_temporary = data is None
        self.data = Path(data or tempfile.mkdtemp(prefix="headwater-"))
        self._clock = clock or SystemClock()
        self._disk = disk or LocalDisk()
        self._settings = {"listen": "127.0.0.1:0", **settings}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def bootstrap(self) -> str:
        """The address for `bootstrap.servers`."""
        assert self._server is not None, "the broker is not running"
        return self._server.address

    @property
    def port(self) -> int:
        return int(self.bootstrap.rpartition(":")[2])

    @property
    def embedded(self) -> EmbeddedBroker:
        """The broker itself; use it only inside `call`."""
        assert self._server is not None, "the broker is not running"
        return self._server.broker

    def start(self) -> Self:
        """Start and return once clients can connect."""
        started: threading.Event = threading.Event()
        failure: list[BaseException] = []
        settings = BrokerSettings(**{**self._settings, "data": str(self.data)})

        def run() -> None:
            loop = asyncio.new_event_loop()
            self._loop = loop
            try:
                self._server = Server(EmbeddedBroker(settings, self._disk, self._clock))
                loop.run_until_complete(self._server.start())
            except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
                failure.append(error)
                loop.close()
                started.set()
                return
            started.set()
            loop.run_forever()
            loop.close()

        self._thread = threading.Thread(target=run, name="headwater-broker", daemon=True)
        self._thread.start()
        started.wait()
        if failure:
            raise failure[0]
        self._settings["listen"] = f"127.0.0.1:{self.port}"
        return self

    def stop(self) -> None:
        """Shut down cleanly; what was stored stays where `data` is."""
        server = self._server
        if server is not None:
            self.call(server.stop)
            self._end_loop()

    def restart(self) -> None:
        """Stop cleanly and start again, on the same data and the same port."""
        self.stop()
        self.start()

    def call(self, function: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Run a coroutine function on the broker's event loop and return its result."""
        assert self._loop is not None, "the broker is not running"

        async def run() -> T:
            return await function(*args)

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result()

    def _end_loop(self) -> None:
        assert self._loop is not None
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._server = None

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
            shutil.rmtree(self.data, ignore_errors=True)
