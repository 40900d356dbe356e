"""`headwater dev`."""

import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

from headwater.cli.command import command as headwater_command
from headwater.cli.running import run_broker
from headwater.cli.session import Session
from headwater.cli.settings import resolved, settings_flags
from headwater.config import split_address


@headwater_command(
    "dev",
    examples=(
        "headwater dev",
        "headwater dev --num-partitions 4",
        "headwater dev --listen 127.0.0.1:19092",
    ),
)
@settings_flags
def command(session: Session, config: Path, **flags: Any) -> None:
    """Run a broker for this folder, until Ctrl-C.

    Data is kept in ./.headwater, and commands and clients started in this folder find the broker by
    themselves. If port 9092 is taken, a free one is used.
    """
    found = resolved(flags, config)
    settings = found.settings
    if found.origins["listen"] == "default" and not _is_free(settings.listen):
        settings = replace(settings, listen="127.0.0.1:0")
        session.output.note("port 9092 is taken, using a free one")
    if found.origins["log_level"] == "default":
        settings = replace(settings, log_level="warning")
    run_broker(session, settings, config)


def _is_free(address: str) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(split_address(address))
        except OSError:
            return False
    return True
