"""Run a broker as a process: until SIGTERM, SIGINT or a closed terminal, then a clean shutdown."""

import asyncio
import ctypes
import gc
import json
import logging
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from headwater.broker.broker import Broker
from headwater.broker.metrics import MetricsServer
from headwater.broker.server import Server
from headwater.clock import SystemClock
from headwater.config import BrokerSettings
from headwater.log.disk import LocalDisk

ADDRESS_FILE: Final = "broker.json"
"""In the data directory while a broker runs: how commands of the same folder find it."""

_KEPT_BYTES: Final = 32 << 20
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's mallopt."""

logger = logging.getLogger(__name__)


def serve(
    settings: BrokerSettings, on_ready: Callable[[Server, str], None], on_stop: Callable[[], None]
) -> None:
    """Serve until told to stop; `on_ready` is called once clients can connect, with the address of metrics.

    `on_stop` is called in a thread while they still can, so that those who follow may end in peace.
    """
    _raise_file_limit()
    _keep_freed_memory()
    # A sync thread that is done must not wait 5 ms, the default, for a busy event loop to let it speak.
    sys.setswitchinterval(0.0005)
    asyncio.run(_serve(settings, on_ready, on_stop))


async def _serve(
    settings: BrokerSettings, on_ready: Callable[[Server, str], None], on_stop: Callable[[], None]
) -> None:
    server = Server(Broker(settings, LocalDisk(), SystemClock()))
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(each) is not signal.SIG_IGN:  # as nohup asks for
            loop.add_signal_handler(each, stop.set)
    await server.start()
    metrics = MetricsServer(server.broker)
    address_file = server.broker.directory / ADDRESS_FILE
    try:
        if settings.metrics:
            await metrics.start(settings.metrics)
        _write_address(address_file, server.address)
        # What the start created lives as long as the process: the collector need not look at it again.
        gc.collect()
        gc.freeze()
        on_ready(server, metrics.address)
        await stop.wait()
        logger.info("stopping")
        await asyncio.to_thread(on_stop)
    finally:
        address_file.unlink(missing_ok=True)
        await metrics.stop()
        await server.stop()


def _write_address(file: Path, address: str) -> None:
    file.write_text(json.dumps({"bootstrap": address, "pid": os.getpid()}))


def _raise_file_limit() -> None:
    """Every partition in use holds files open: take what the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = hard if hard != resource.RLIM_INFINITY else 1 << 20
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _keep_freed_memory() -> None:
    """Keep what answers to readers used for the next ones, instead of faulting it in anew.

    With glibc's own limits an answer of four reads of 1 MB costs a thousand page faults.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _KEPT_BYTES)
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
