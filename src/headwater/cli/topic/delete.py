"""`headwater topic delete`."""

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.session import Session
from headwater.cli.suggestions import require_topic


@headwater_command(
    "delete",
    examples=(
        "headwater topic delete orders",
        "headwater topic delete orders payments --yes",
        "headwater topic delete old --profile prod",
    ),
)
@click.argument("topics", nargs=-1, required=True)
def command(session: Session, topics: tuple[str, ...]) -> None:
    """Delete topics with all their records."""
    topics = tuple(dict.fromkeys(topics))
    with session.connect() as client:
        for topic in topics:
            require_topic(client, topic)
        sizes = {found.name: found for found in client.admin.topics.list(internal=True)}
        rows = [
            {"topic": topic, "partitions": sizes[topic].partitions, "records": sizes[topic].records}
            for topic in topics
        ]
        session.output.rows(("topic", "partitions", "records"), rows, title="to delete")
        session.ask(f"Delete {', '.join(topics)} for good?")
        for topic in topics:
            client.admin.topics.delete(topic)
    session.output.note(f"deleted {', '.join(topics)}")
