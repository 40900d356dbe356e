"""Server-sent events: how one is written, and many in pieces of a bounded size."""

from collections.abc import Iterable, Iterator
from typing import Final

PIECE_BYTES: Final = 64 << 10
SIGN_OF_LIFE: Final = b":\n\n"
"""No event, and it has no id: for a reader that has no position yet."""


def event(kind: str, data: str, id_text: str | None = None) -> bytes:
    """One event; `data` is JSON, which has no line breaks.

    An empty id makes a reader forget the last one: it then reconnects without. None leaves it that.
    """
    head = "" if id_text is None else f"id: {id_text}\n"
    return to_bytes(f"{head}event: {kind}\ndata: {data}\n\n")


def to_bytes(text: str) -> bytes:
    """Half of a surrogate pair becomes its escape in JSON: UTF-8 has no place for it."""
    return text.encode("utf-8", "backslashreplace")


def in_pieces(events: Iterable[bytes]) -> Iterator[bytes]:
    """Whole events, joined up to the size of a piece."""
    kept: list[bytes] = []
    size = 0
    for each in events:
        kept.append(each)
        size += len(each)
        if size >= PIECE_BYTES:
            yield b"".join(kept)
            kept, size = [], 0
    if kept:
        yield b"".join(kept)
