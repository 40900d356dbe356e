"""Run a broker in this process and say where it is."""

import gc
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.cli.logs import configure_logs
from headwater.cli.session import Session
from headwater.cli.view_process import ViewProcess
from headwater.config import BrokerSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from headwater.broker.server import Server


def run_broker(session: Session, settings: BrokerSettings, config: Path) -> None:
    """Serve until stopped; the addresses are printed once clients can connect."""
    serve = _load_broker()
    configure_logs(settings.log_level, settings.log_format)
    views = ViewProcess(session, settings, config) if settings.http else None

    def announce(server: "Server", metrics: str) -> None:
        addresses = {"kafka": server.address, "data": settings.data, "metrics": metrics}
        if session.output.is_json:
            session.output.document(addresses)
        else:
            of_metrics = f" | Metrics http://{metrics}/metrics" if metrics else ""
            session.output.line(f"Kafka {server.address}{of_metrics} | data {settings.data}")
        sys.stdout.flush()
        if views is not None:
            views.start(server.address)

    def end_views() -> None:
        if views is not None:
            views.stop()

    try:
        serve(settings, announce, end_views)
    finally:
        end_views()


def _load_broker() -> (
    "Callable[[BrokerSettings, Callable[[Server, str], None], Callable[[], None]], None]"
):
    """The broker's modules, which only a process that runs one pays for.

    They are there to stay: the collector need not look for garbage while they load, nor among them later.
    """
    gc.disable()
    try:
        from headwater.broker.run import serve  # noqa: PLC0415
    finally:
        gc.freeze()
        gc.enable()
    return serve
