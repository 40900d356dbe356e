"""`headwater pipeline list`."""

from headwater.cli.command import command as headwater_command
from headwater.cli.pipeline.names import known
from headwater.cli.pipeline.rows import LIST_COLUMNS, list_row
from headwater.cli.session import Session


@headwater_command(
    "list",
    examples=(
        "headwater pipeline list",
        "headwater pipeline list --json | jq 'select(.lag > 0)'",
        "headwater pipeline list --profile prod",
    ),
)
def command(session: Session) -> None:
    """List queries with their state and lag, and what is wrong, of all pipelines."""
    with session.connect() as client:
        found = known(client)
    session.output.rows(
        (*LIST_COLUMNS, "error"), [{**list_row(each), "error": each.error} for each in found]
    )
