"""`headwater pipeline graph`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.pipeline.graphs import graphs_of
from headwater.cli.session import Session

if TYPE_CHECKING:
    from headwater.streams.graph import Graph

Dataset = tuple[str, str]
"""Its pipeline and its name."""


@headwater_command(
    "graph",
    examples=(
        "headwater pipeline graph",
        "headwater pipeline graph --mermaid > pipeline.mmd",
        "headwater pipeline graph pipelines/shop.py --json",
    ),
)
@click.argument("path", type=click.Path(path_type=Path), required=False)
@click.option("--mermaid", is_flag=True, help="Print a Mermaid diagram.")
def command(session: Session, path: Path | None, mermaid: bool) -> None:
    """Draw what reads what.

    A topic that one of the pipelines writes and another reads joins them.
    """
    edges = _edges(graphs_of(session, path))
    if mermaid:
        session.output.line("flowchart LR")
        for (writer, source), (reader, target) in edges:
            session.output.line(f"    {writer}.{source} --> {reader}.{target}")
        return
    session.output.rows(
        ("pipeline", "from", "to"),
        [
            {
                "pipeline": reader,
                "from": source if writer == reader else f"{writer}.{source}",
                "to": target,
            }
            for (writer, source), (reader, target) in edges
        ],
    )


def _edges(graphs: "list[Graph]") -> list[tuple[Dataset, Dataset]]:
    from headwater.streams.graph import joints_of  # noqa: PLC0415

    joints = [
        ((each.writer.name, each.output), (each.reader.name, each.name))
        for each in joints_of(graphs)
    ]
    within = [
        ((graph.name, source), (graph.name, target))
        for graph in graphs
        for source, target in graph.edges()
    ]
    return [*within, *joints]
