"""`headwater dev`."""

import fcntl
import json
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

from headwater.cli.command import command as headwater_command
from headwater.cli.running import run_broker
from headwater.cli.session import Session
from headwater.cli.settings import resolved, settings_flags
from headwater.config import split_address
from headwater.errors import Conflict


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
    _refuse_second(Path(settings.data))
    if found.origins["listen"] == "default" and not _is_free(settings.listen):
        settings = replace(settings, listen="127.0.0.1:0")
        session.output.note("port 9092 is taken, using a free one")
    if found.origins["log_level"] == "default":
        settings = replace(settings, log_level="warning")
    run_broker(session, settings, config)


def _refuse_second(data: Path) -> None:
    """Say where the broker of this folder is, if it runs; a killed one leaves its address, but no lock."""
    try:
        left = json.loads((data / "broker.json").read_text())
        address, pid = left["bootstrap"], left["pid"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if _is_locked(data / "lock"):
        raise Conflict(
            f"the broker of this folder runs already, at {address}",
            hint=f"commands in this folder find it; to stop it: kill {pid}",
        )


def _is_locked(path: Path) -> bool:
    try:
        with path.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _is_free(address: str) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(split_address(address))
        except OSError:
            return False
    return True
