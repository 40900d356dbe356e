"""`headwater pipeline graph`."""

from pathlib import Path

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.pipeline.graphs import graphs_of
from headwater.cli.session import Session


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
    """Draw what reads what."""
    graphs = graphs_of(session, path)
    edges = [(graph, source, target) for graph in graphs for source, target in graph.edges()]
    if mermaid:
        session.output.line("flowchart LR")
        for graph, source, target in edges:
            session.output.line(f"    {graph.name}.{source} --> {graph.name}.{target}")
        return
    session.output.rows(
        ("pipeline", "from", "to"),
        [{"pipeline": graph.name, "from": source, "to": target} for graph, source, target in edges],
    )
