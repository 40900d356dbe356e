"""Views in a test: real followers and a real HTTP server in this process, on a random port."""

import asyncio
import shutil
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import headwater
from headwater.client.client import Client
from headwater.clock import Clock
from headwater.config import ViewSettings
from headwater.serve.run import ViewServer as Server


class ViewServer:
    """A server of views for the length of a `with` block. It needs the `serve` extra.

    Keyword arguments are the settings of `headwater view serve` (`max_subscribers=10`, ...). Without `data`
    it lives in a temporary directory that goes with it.
    """

    def __init__(
        self,
        bootstrap: str,
        *,
        data: Path | str | None = None,
        clock: Clock | None = None,
        **settings: Any,
    ) -> None:
        self._bootstrap = bootstrap
        self._is_temporary = data is None
        self.data = Path(data or tempfile.mkdtemp(prefix="headwater-views-"))
        self._clock = clock
        self._settings = {"http": "127.0.0.1:0", **settings}
        self._client: Client | None = None
        self._server: Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://{self._server.address}"

    def start(self) -> Self:
        """Start and return once requests are answered; raises why it cannot start."""
        settings = ViewSettings(**{**self._settings, "data": str(self.data)})
        self._client = headwater.connect(self._bootstrap)
        self._server = server = Server(self._client, settings, self._clock)
        started = threading.Event()
        failure: list[BaseException] = []

        def run() -> None:
            try:
                asyncio.run(server.run(lambda _: started.set()))
            except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
                failure.append(error)
            started.set()

        self._thread = threading.Thread(target=run, name="headwater-view-server", daemon=True)
        self._thread.start()
        started.wait()
        if failure:
            raise failure[0]
        return self

    def stop(self) -> None:
        """Shut down; what was built stays where `data` is."""
        if self._server is None or self._thread is None or self._client is None:
            return
        self._server.stop()
        self._thread.join()
        self._client.close()
        self._thread = None

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
