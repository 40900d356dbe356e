"""`headwater dev`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from headwater.cli.command import command as headwater_command
from headwater.cli.running import run_broker
from headwater.cli.session import Session
from headwater.cli.settings import resolved, settings_flags
from headwater.cli.taken import is_locked, is_taken
from headwater.cli.view_process import is_ending
from headwater.config import BrokerSettings, join_address, split_address
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
    themselves. If port 9092 is taken, or that of the views in headwater.toml, a free one is used.
    """
    found = resolved(flags, config)
    settings = found.settings
    _refuse_second(Path(settings.data))
    if found.origins["listen"] == "default" and is_taken(settings.listen):
        settings = replace(settings, listen=_at_a_free_port(session, settings.listen))
    if found.origins["http"] == str(config) and _is_of_others(settings):
        settings = replace(settings, http=_at_a_free_port(session, settings.http))
    if found.origins["log_level"] == "default":
        settings = replace(settings, log_level="warning")
    run_broker(session, settings, config)


def _is_of_others(settings: BrokerSettings) -> bool:
    """Whether the port of the views is; of a run that was killed, they end in a moment."""
    return bool(settings.http) and is_taken(settings.http, "http") and not is_ending(settings)


def _at_a_free_port(session: Session, address: str) -> str:
    host, port = split_address(address)
    session.output.note(f"port {port} is taken, using a free one")
    return join_address(host, 0)


def _refuse_second(data: Path) -> None:
    """Say where the broker of this folder is, if it runs; a killed one leaves its address, but no lock."""
    try:
        left = json.loads((data / "broker.json").read_text())
        address, pid = left["bootstrap"], left["pid"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if is_locked(data / "lock"):
        raise Conflict(
            f"the broker of this folder runs already, at {address}",
            hint=f"commands in this folder find it; to stop it: kill {pid}",
        )
