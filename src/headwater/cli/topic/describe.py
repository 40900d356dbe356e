"""`headwater topic describe`."""

from dataclasses import asdict

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.session import Session
from headwater.cli.suggestions import require_topic


@headwater_command(
    "describe",
    examples=(
        "headwater topic describe orders",
        "headwater topic describe orders --all",
        "headwater topic describe orders --json",
    ),
)
@click.argument("topic")
@click.option("--all", "show_all", is_flag=True, help="Also settings that have their default.")
def command(session: Session, topic: str, show_all: bool) -> None:
    """Show the partitions and settings of a topic."""
    with session.connect() as client:
        require_topic(client, topic)
        found = client.admin.topics.describe(topic)
    configs = [asdict(config) for config in found.configs if show_all or config.source == "topic"]
    if session.output.is_json:
        session.output.document({**asdict(found), "configs": configs})
        return
    session.output.rows(
        ("partition", "leader", "replicas", "in_sync", "start_offset", "end_offset"),
        (asdict(partition) for partition in found.partitions),
    )
    if configs:
        session.output.line("")
        session.output.rows(("name", "value", "source"), configs)
