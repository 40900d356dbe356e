"""Run followers and their server: in this thread until it is told to stop, or beside it for tests."""

import asyncio
import contextlib
import json
import logging
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import uvicorn

from headwater.client.client import Client
from headwater.clock import Clock, SystemClock
from headwater.config import ViewSettings, refuse_open_door, split_address
from headwater.errors import Unavailable
from headwater.followers.followers import Followers
from headwater.followers.sqlite.shelf import SqliteShelf
from headwater.serve.app import make_app
from headwater.serve.protocol import BoundedHttp
from headwater.serve.serving import Serving

ADDRESS_FILE: Final = "views.json"
"""Beside the data while a server runs: how commands of the same folder find it."""

logger = logging.getLogger(__name__)

_OTHER_CONNECTIONS: Final = 500
_STOP_WITHIN_S: Final = 5


def keeps_views(data: Path) -> bool:
    """Whether an earlier run has left views in this directory."""
    return data.is_dir() and any(each.is_dir() for each in data.iterdir())


class ViewServer:
    """Followers and HTTP on one event loop; the followers have threads of their own."""

    def __init__(self, client: Client, settings: ViewSettings, clock: Clock | None = None) -> None:
        refuse_open_door(settings.http, settings.token)
        self._client = client
        self._settings = settings
        self._clock = clock or SystemClock()
        self._server: uvicorn.Server | None = None
        self.address = ""
        """Where it listens, once it does."""

    async def run(self, on_ready: Callable[["ViewServer"], None]) -> None:
        """Serve until `stop`; `on_ready` is called once requests are answered."""
        settings = self._settings
        with _listen(settings.http) as listener:
            host, port = listener.getsockname()[:2]
            self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            shelf = SqliteShelf(Path(settings.data))
            followers = Followers(self._client, shelf, self._clock, tail_bytes=settings.tail_bytes)
            serving = Serving(self._client, followers, settings, self._clock)
            followers.on_new = serving.watch
            followers.start()
            try:
                with _address_file(Path(settings.data), self.address):
                    await self._serve(serving, listener, on_ready)
            finally:
                serving.stop()
                await asyncio.to_thread(followers.stop)
                serving.close()
                shelf.close()

    def stop(self) -> None:
        """May be called from any thread."""
        if self._server is not None:
            self._server.should_exit = True

    async def _serve(
        self, serving: Serving, listener: socket.socket, on_ready: Callable[["ViewServer"], None]
    ) -> None:
        config = uvicorn.Config(
            make_app(serving),
            http=BoundedHttp,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            limit_concurrency=self._settings.max_subscribers + _OTHER_CONNECTIONS,
            timeout_graceful_shutdown=_STOP_WITHIN_S,
            server_header=False,
        )
        self._server = _Server(config, lambda: on_ready(self), serving.stop)
        await self._server.serve(sockets=[listener])


class _Server(uvicorn.Server):
    """Says when it is ready, and ends subscriptions before it stops: by themselves they never would."""

    def __init__(
        self, config: uvicorn.Config, on_ready: Callable[[], None], on_stop: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._on_stop = on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_stop()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are for whoever runs this: it may not be alone in its process."""
        yield


def _listen(address: str) -> socket.socket:
    host, port = split_address(address, "http")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, or asyncio would leave Nagle's delay on: 40 ms for every answer.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise Unavailable(
            f"cannot listen on {address}: {error.strerror or error}",
            hint="is another server running there? choose another --http",
        ) from error
    listener.listen(1024)
    return listener


@contextlib.contextmanager
def _address_file(data: Path, address: str) -> Iterator[None]:
    file = data / ADDRESS_FILE
    file.write_text(json.dumps({"http": f"http://{address}", "pid": os.getpid()}))
    try:
        yield
    finally:
        file.unlink(missing_ok=True)
