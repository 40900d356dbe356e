"""`headwater topic alter`."""

from typing import TYPE_CHECKING

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.pairs import parse_pairs
from headwater.cli.session import Session
from headwater.cli.suggestions import require_topic
from headwater.errors import InvalidRequest

if TYPE_CHECKING:
    from headwater.client.admin.topics import TopicDetails


@headwater_command(
    "alter",
    examples=(
        "headwater topic alter orders --set retention.ms=3600000",
        "headwater topic alter orders --unset retention.ms",
        "headwater topic alter orders --partitions 8",
    ),
)
@click.argument("topic")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a value.")
@click.option("--unset", multiple=True, metavar="NAME", help="Go back to the broker's default.")
@click.option("--partitions", type=click.IntRange(min=1), help="Raise the number to this.")
def command(
    session: Session,
    topic: str,
    settings: tuple[str, ...],
    unset: tuple[str, ...],
    partitions: int | None,
) -> None:
    """Change settings of a topic, or add partitions."""
    changes = parse_pairs(settings)
    if not changes and not unset and partitions is None:
        raise click.UsageError("nothing to change: give --set, --unset or --partitions")
    with session.connect() as client:
        require_topic(client, topic)
        before = _values(client.admin.topics.describe(topic))
        # Before anything is changed: a command that is refused leaves all as it was.
        _refuse_fewer(topic, partitions, int(before["partitions"] or 0))
        if changes or unset:
            client.admin.topics.alter(topic, set=changes, unset=unset)
        if partitions is not None:
            client.admin.topics.add_partitions(topic, total=partitions)
        after = _values(client.admin.topics.describe(topic))
    changed = (*changes, *unset, *(("partitions",) if partitions is not None else ()))
    session.output.rows(
        ("topic", "name", "before", "after"),
        (
            {"topic": topic, "name": name, "before": before.get(name), "after": after.get(name)}
            for name in changed
        ),
    )


def _refuse_fewer(topic: str, wanted: int | None, present: int) -> None:
    if wanted is not None and wanted <= present:
        raise InvalidRequest(
            what=f"topic {topic!r} has {present} partition{'s' * (present != 1)} already, "
            f"so {wanted} would not be more",
            hint="partitions can be added, but never taken away; nothing was changed",
        )


def _values(topic: "TopicDetails") -> dict[str, str | None]:
    """Everything that `alter` can change, as text."""
    configs = {config.name: config.value for config in topic.configs}
    return {**configs, "partitions": str(len(topic.partitions))}
