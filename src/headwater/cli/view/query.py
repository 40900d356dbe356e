"""`headwater view query`."""

import math
import re
from typing import Final

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.session import Session
from headwater.cli.view.json_row import shown
from headwater.cli.view.url_option import url_option
from headwater.cli.view.waiting import waiting_options
from headwater.client.record import Receipt

_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?", re.ASCII)
_LARGEST: Final = 1 << 63
_MOST_DIGITS: Final = 20


@headwater_command(
    "query",
    examples=(
        "headwater view query 'SELECT customer, sum(total) FROM revenue GROUP BY customer'",
        "headwater view query 'SELECT * FROM shop.revenue WHERE customer = ?' 7",
        "headwater view query 'SELECT count(*) AS n FROM revenue' --json | jq .n",
    ),
)
@click.argument("sql")
@click.argument("parameters", nargs=-1)
@click.option("-n", "--limit", type=click.IntRange(min=1), help="Rows, at most.")
@waiting_options
@url_option
def command(  # noqa: PLR0913  one argument per option
    session: Session,
    *,
    sql: str,
    parameters: tuple[str, ...],
    limit: int | None,
    wait_for: Receipt | None,
    timeout_s: float,
    url: str | None,
) -> None:
    """Run a SELECT over views.

    Views are called by their name or its last part: FROM shop.revenue, FROM revenue. Each ? stands
    for one of PARAMETERS, which come after -- if one begins with a minus. The server limits time,
    rows and bytes.
    """
    values = [_number_or_text(each) for each in parameters]
    with session.views(url) as views:
        table = views.query(sql, *values, limit=limit, wait_for=wait_for, timeout_s=timeout_s)
    if session.output.is_json:
        session.output.rows(table.columns, table)
    else:
        shown_rows = ({name: shown(value) for name, value in row.items()} for row in table)
        session.output.rows(table.columns, shown_rows)
    if table.is_truncated:
        session.output.note(f"only the first {len(table)} rows: there are more")


def _number_or_text(text: str) -> int | float | str:
    """Numbers as JSON spells them, if SQLite has such a number; 01234 and nan are text."""
    if _NUMBER.fullmatch(text) is None:
        return text
    if set(text) & set(".eE"):
        number = float(text)
        return number if math.isfinite(number) else text
    whole = int(text) if len(text) <= _MOST_DIGITS else _LARGEST
    return whole if abs(whole) < _LARGEST else text
