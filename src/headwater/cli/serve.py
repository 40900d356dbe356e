"""`headwater serve`."""

from pathlib import Path
from typing import Any

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.running import run_broker
from headwater.cli.session import Session
from headwater.cli.settings import resolved, setting_rows, settings_flags


@headwater_command(
    "serve",
    examples=(
        "headwater serve --data /var/lib/headwater",
        "headwater serve --listen 0.0.0.0:9092 --advertised broker.example:9092",
        "headwater serve --http 127.0.0.1:9090",
    ),
)
@settings_flags
@click.option("--print-config", is_flag=True, help="Print every setting and its origin, and exit.")
def command(session: Session, config: Path, print_config: bool, **flags: Any) -> None:
    """Run a broker until SIGTERM or Ctrl-C.

    Every setting can be a flag, a HEADWATER_* variable or a line under [broker] in headwater.toml;
    the first of these that has it counts.
    """
    found = resolved(flags, config)
    if print_config:
        session.output.rows(("setting", "value", "origin"), setting_rows(found))
        return
    run_broker(session, found.settings, config)
