"""`headwater topic list`."""

import difflib
import re
from dataclasses import asdict

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.session import Session

_COLUMNS = ("name", "partitions", "replicas", "records")


@headwater_command(
    "list",
    examples=(
        "headwater topic list",
        "headwater topic list 'orders.*'",
        "headwater topic list --internal --json",
    ),
)
@click.argument("pattern", required=False)
@click.option("--internal", is_flag=True, help="Also topics that brokers keep for themselves.")
def command(session: Session, pattern: str | None, internal: bool) -> None:
    """List topics.

    PATTERN is a regular expression that the whole name must match.
    """
    try:
        matches = re.compile(pattern or ".*").fullmatch
    except re.error as error:
        raise click.UsageError(f"{pattern!r} is not a regular expression: {error}") from error
    with session.connect() as client:
        topics = client.admin.topics.list(internal=internal)
        found = [topic for topic in topics if matches(topic.name)]
        hidden = [] if found else [name for name in client.admin.topics.names() if matches(name)]
    session.output.rows(_COLUMNS, (asdict(topic) for topic in found))
    if pattern and hidden:
        session.output.note(f"--internal shows {', '.join(hidden)}")
    elif pattern and not found:
        near = difflib.get_close_matches(pattern, [topic.name for topic in topics], n=1)
        session.output.note(f"no topic matches{f', did you mean {near[0]!r}?' if near else ''}")
