"""Run a broker in this process and say where it is."""

import sys

from headwater.broker.run import serve
from headwater.broker.server import Server
from headwater.cli.logs import configure_logs
from headwater.cli.session import Session
from headwater.config import BrokerSettings


def run_broker(session: Session, settings: BrokerSettings) -> None:
    """Serve until stopped; the addresses are printed once clients can connect."""
    configure_logs(settings.log_level, settings.log_format)

    def announce(server: Server) -> None:
        addresses = {"kafka": server.address, "data": settings.data, "metrics": settings.metrics}
        if session.output.is_json:
            session.output.document(addresses)
        else:
            metrics = f" | Metrics http://{settings.metrics}/metrics" if settings.metrics else ""
            session.output.line(f"Kafka {server.address}{metrics} | data {settings.data}")
        sys.stdout.flush()

    serve(settings, announce)
