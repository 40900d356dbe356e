"""Run a broker in this process and say where it is."""

import sys
from pathlib import Path

from headwater.broker.run import serve
from headwater.broker.server import Server
from headwater.cli.logs import configure_logs
from headwater.cli.session import Session
from headwater.cli.view_process import ViewProcess
from headwater.config import BrokerSettings


def run_broker(session: Session, settings: BrokerSettings, config: Path) -> None:
    """Serve until stopped; the addresses are printed once clients can connect."""
    configure_logs(settings.log_level, settings.log_format)
    views = ViewProcess(session, settings, config) if settings.http else None

    def announce(server: Server) -> None:
        addresses = {"kafka": server.address, "data": settings.data, "metrics": settings.metrics}
        if session.output.is_json:
            session.output.document(addresses)
        else:
            metrics = f" | Metrics http://{settings.metrics}/metrics" if settings.metrics else ""
            session.output.line(f"Kafka {server.address}{metrics} | data {settings.data}")
        sys.stdout.flush()
        if views is not None:
            views.start(server.address)

    try:
        serve(settings, announce)
    finally:
        if views is not None:
            views.stop()
