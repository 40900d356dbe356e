"""Where a page ended: the key of its last row, in a form that fits into an address."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from headwater.errors import InvalidRequest
from headwater.views import View
from headwater.views.keys import canonical_key


def encode_cursor(view: View, row: dict[str, Any]) -> str:
    key = json.dumps([row[name] for name in view.key], separators=(",", ":"))
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
