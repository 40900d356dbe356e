"""Where a page ended: the key of its last row, in a form that fits into an address."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Any, Final

from headwater.errors import InvalidRequest
from headwater.followers.store import Row
from headwater.views import View
from headwater.views.keys import canonical_key

LONGEST: Final = 40_000
"""In characters: it is a part of the address of a request, which has bounds."""


def end_of_page(view: View, rows: Sequence[Row]) -> tuple[Sequence[Row], str]:
    """The rows up to the last one behind which the next page can begin, and where that is."""
    for count in range(len(rows), 0, -1):
        cursor = encode_cursor(view, rows[count - 1])
        if len(cursor) <= LONGEST:
            return rows[:count], cursor
    raise InvalidRequest(
        f"each of the next {len(rows)} rows has a key of more than {LONGEST * 3 // 4} bytes, behind which "
        "no page can begin",
        hint="ask for more rows at once with limit=, or leave these out with where=",
    )


def encode_cursor(view: View, row: Row) -> str:
    key = json.dumps([row[name] for name in view.key], separators=(",", ":"), ensure_ascii=False)
    return urlsafe_b64encode(key.encode()).decode().rstrip("=")


def decode_cursor(view: View, cursor: str) -> dict[str, Any]:
    """Raises `InvalidRequest` for what is not a cursor of this view."""
    try:
        values = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        return canonical_key(view, dict(zip(view.key, values, strict=True)))
    except (ValueError, TypeError, RecursionError, InvalidRequest) as error:
        raise InvalidRequest(
            f"after={cursor[:40]!r} is not where a page of this view ended",
            hint="give `next` of the page before as it is",
        ) from error
