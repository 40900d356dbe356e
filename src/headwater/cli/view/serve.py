"""`headwater view serve`."""

import os
from pathlib import Path
from typing import Any

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.session import Session
from headwater.cli.settings import flags_of, setting_rows, with_data
from headwater.config import VIEWS, resolve_family


@headwater_command(
    "serve",
    examples=(
        "headwater view serve",
        "headwater view serve --bootstrap broker.example:9092 --data /var/lib/headwater/views",
        "HEADWATER_VIEWS_TOKEN=... headwater view serve --http 0.0.0.0:9090",
    ),
)
@flags_of(VIEWS)
@click.option("--print-config", is_flag=True, help="Print every setting and its origin, and exit.")
@click.option(
    "--until-stdin-closes", is_flag=True, hidden=True, help="End with the parent process."
)
def command(
    session: Session, *, config: Path, print_config: bool, until_stdin_closes: bool, **flags: Any
) -> None:
    """Serve the views of a broker over HTTP, until SIGTERM or Ctrl-C.

    Works against any Kafka. Needs the extra: pip install 'headwater[serve]'. Every setting can be a
    flag, a HEADWATER_VIEWS_* variable or a line under [views] in headwater.toml. A token is best
    given as a variable: others on this machine can see flags.
    """
    found = with_data(resolve_family(VIEWS, flags, os.environ, config))
    if print_config:
        session.output.rows(("setting", "value", "origin"), setting_rows(found))
        return
    from headwater.cli.view.running import run_views  # noqa: PLC0415 - only a server pays for it

    run_views(session, found.settings, until_stdin_closes=until_stdin_closes)
