"""`headwater pipeline check`."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.pipeline.graphs import graphs_of
from headwater.cli.pipeline.place import surroundings
from headwater.cli.session import Session

if TYPE_CHECKING:
    from headwater.streams.run.plan import Planned


@headwater_command(
    "check",
    examples=(
        "headwater pipeline check",
        "headwater pipeline check pipelines/shop.py",
        "headwater pipeline check --json",
    ),
)
@click.argument("path", type=click.Path(path_type=Path), required=False)
def command(session: Session, path: Path | None) -> None:
    """Plan the pipelines and say what is wrong, without running them.

    A view that may keep an older row of a key is told as a warning.
    """
    graphs = graphs_of(session, path)
    with session.connect() as client:
        where = surroundings(session, client)
        from headwater.streams.run.runner import Runner  # noqa: PLC0415
        from headwater.streams.session import close_session, open_session  # noqa: PLC0415

        spark = open_session("headwater pipeline check", master="local[1]")
        try:
            planned = Runner(spark, client, where).plan(graphs)
        finally:
            close_session(spark)
    session.output.rows(
        ("query", "reads", "writes", "key", "mode", "columns"),
        [
            {
                "query": each.name,
                "reads": _listed(session, each.reads.values()),
                "writes": each.output.topic,
                "key": _listed(session, each.output.key),
                "mode": each.output_mode,
                "columns": _listed(
                    session,
                    [
                        f"{field.name} {field.dataType.simpleString()}"
                        for field in each.schema.fields
                    ],
                ),
            }
            for each in planned
        ],
    )
    for each in planned:
        if each.moved_by is not None:
            session.output.note(_warning(each))


def _warning(planned: "Planned") -> str:
    return (
        f"warning: {planned.flow.location}: of two rows of one key in one batch {planned.flow.name!r} "
        f"may keep the older one: {planned.moved_by} moves rows about\n"
        'hint: see "the last row of a key" in docs/pipelines.md; '
        "where no key comes twice in a batch, nothing is to be done"
    )


def _listed(session: Session, parts: Iterable[str]) -> list[str] | str:
    return list(parts) if session.output.is_json else ", ".join(parts)
