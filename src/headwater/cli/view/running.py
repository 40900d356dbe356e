"""Run a server of views in this process and say where it is."""

import asyncio
import gc
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headwater.cli.logs import configure_logs
from headwater.cli.session import Session
from headwater.cli.view.extra import require_serve_extra
from headwater.config import ViewSettings

if TYPE_CHECKING:
    from headwater.serve.run import ViewServer

_GARBAGE_LOOKS: Final = (100_000, 20, 100)
"""Records are read by the ten thousand: to look for garbage after every 700 is a quarter of the cost."""


def run_views(session: Session, settings: ViewSettings, *, until_stdin_closes: bool) -> None:
    """Serve until stopped; the address is printed once requests are answered."""
    require_serve_extra()
    from headwater.serve.run import ViewServer, keeps_views  # noqa: PLC0415  it needs the extra

    configure_logs(settings.log_level, settings.log_format)
    gc.freeze()
    gc.set_threshold(*_GARBAGE_LOOKS)

    def announce(server: ViewServer) -> None:
        address = f"http://{server.address}"
        if session.output.is_json:
            session.output.document({"http": address, "data": settings.data})
        else:
            session.output.line(f"Views {address} | data {settings.data}")
        sys.stdout.flush()

    async def serve() -> None:
        server = ViewServer(client, settings)
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, server.stop)
        if until_stdin_closes:
            loop.add_reader(sys.stdin.fileno(), _stop_with_parent, loop, server)
        await server.run(announce)

    # What was kept can be served without a broker; who has nothing yet may have mistyped its address.
    connect = session.connect_later if keeps_views(Path(settings.data)) else session.connect
    with connect() as client:
        asyncio.run(serve())


def _stop_with_parent(loop: asyncio.AbstractEventLoop, server: "ViewServer") -> None:
    """The other end of the pipe is closed when the parent ends, in whatever way.

    No thread reads it: one that still did when Python ends would hold the lock of stdin, which is fatal.
    """
    if not os.read(sys.stdin.fileno(), 1024):
        loop.remove_reader(sys.stdin.fileno())
        server.stop()
