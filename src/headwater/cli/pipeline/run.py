"""`headwater pipeline run`."""

import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.pipeline.graphs import graphs_of
from headwater.cli.pipeline.place import surroundings
from headwater.cli.pipeline.rows import LIST_COLUMNS, list_row
from headwater.cli.session import Session

if TYPE_CHECKING:
    from headwater.streams.run.status import Status


@headwater_command(
    "run",
    examples=(
        "headwater pipeline run",
        "headwater pipeline run pipelines/shop.py --once",
        "headwater pipeline run --profile prod --trigger '1 second'",
    ),
)
@click.argument("path", type=click.Path(path_type=Path), required=False)
@click.option("--once", is_flag=True, help="Process what is there now, then end.")
@click.option("--trigger", default="0 seconds", help="The least time between two batches.")
@click.option("--keep-checkpoint", is_flag=True, help="Go on even if a query has changed.")
def command(
    session: Session, path: Path | None, once: bool, trigger: str, keep_checkpoint: bool
) -> None:
    """Run the pipelines of this folder, or of a file, until Ctrl-C."""
    graphs = graphs_of(session, path)
    with session.connect() as client:
        where = surroundings(session, client, trigger=trigger, keep=keep_checkpoint)
        from headwater.streams.run.runner import Runner  # noqa: PLC0415
        from headwater.streams.session import close_session, open_session  # noqa: PLC0415

        session.output.note(f"starting Spark for {', '.join(each.name for each in graphs)}")
        spark = open_session("headwater", master=where.master, conf=where.spark_conf)
        runner = Runner(spark, client, where)
        try:
            if once:
                _report(session, runner.run_once(graphs))
            else:
                runner.run(graphs, _until_told(), _Notes(session).on_status)
        finally:
            close_session(spark)


def _report(session: Session, statuses: "list[Status]") -> None:
    session.output.rows(LIST_COLUMNS, [list_row(each) for each in statuses])
    failed = [each for each in statuses if each.state == "failed"]
    for each in failed:
        session.output.note(f"{each.name} failed at {each.location}: {each.error}")
    if failed:
        raise click.exceptions.Exit(1)


def _until_told() -> threading.Event:
    """Set by Ctrl-C and SIGTERM: queries end between batches, nothing is half done."""
    stop = threading.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: stop.set())
    return stop


class _Notes:
    """Says what changes; the numbers are for `headwater pipeline list`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._said: dict[str, tuple[str, str | None]] = {}

    def on_status(self, statuses: "Sequence[Status]") -> None:
        for each in statuses:
            now = (each.state, each.error)
            if self._said.get(each.name) != now:
                self._said[each.name] = now
                reason = f": {each.error}" if each.error else ""
                self._session.output.note(f"{each.name} {each.state}{reason}")
