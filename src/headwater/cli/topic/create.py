"""`headwater topic create`."""

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.pairs import parse_pairs
from headwater.cli.session import Session


@headwater_command(
    "create",
    examples=(
        "headwater topic create orders",
        "headwater topic create orders --partitions 8 --set retention.ms=86400000",
        "headwater topic create customers --set cleanup.policy=compact",
    ),
)
@click.argument("topic")
@click.option("--partitions", type=click.IntRange(min=1), help="How many (broker's default).")
@click.option("--replicas", type=click.IntRange(min=1), help="Copies of each (broker's default).")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A topic setting.")
def command(
    session: Session,
    topic: str,
    partitions: int | None,
    replicas: int | None,
    settings: tuple[str, ...],
) -> None:
    """Create a topic."""
    with session.connect() as client:
        client.admin.topics.create(
            topic, partitions=partitions, replicas=replicas, configs=parse_pairs(settings)
        )
    session.output.done(f"created topic {topic!r}", {"topic": topic, "created": True})
