"""`headwater pipeline describe`."""

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.pipeline.names import matching
from headwater.cli.session import Session


@headwater_command(
    "describe",
    examples=(
        "headwater pipeline describe shop",
        "headwater pipeline describe shop.revenue",
        "headwater pipeline describe shop --json",
    ),
)
@click.argument("name")
def command(session: Session, name: str) -> None:
    """Show everything about the queries of a pipeline, or about one query."""
    with session.connect() as client:
        found = matching(client, name)
    if session.output.is_json:
        for each in found:
            session.output.document(each.to_json())
        return
    for each in found:
        facts = [(fact, value) for fact, value in each.to_json().items() if value is not None]
        session.output.rows(
            ("what", "is"),
            [{"what": fact, "is": str(value)} for fact, value in facts],
            title=each.name,
        )
