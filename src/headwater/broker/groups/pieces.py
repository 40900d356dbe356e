"""The broker's own records, cut into pieces that fit one batch of their topic."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from headwater.broker.groups.records import Record

T = TypeVar("T")

PIECE_BYTES: Final = 64 << 10
"""Of records that need not be in one batch: far from `max.message.bytes`, whatever they are beside."""
_OVERHEAD_BYTES: Final = 24
"""At most so many bytes of a record are neither key nor value."""


def size_of(record: Record) -> int:
    """How many bytes of a batch a record takes at most."""
    key, value = record
    return len(key) + len(value or b"") + _OVERHEAD_BYTES


def cut(items: Iterable[T], size: Callable[[T], int], most_bytes: int) -> Iterator[list[T]]:
    """Cut into pieces, in order; an item that is larger than a piece is one of its own."""
    piece: list[T] = []
    piece_bytes = 0
    for each in items:
        each_bytes = size(each)
        if piece and piece_bytes + each_bytes > most_bytes:
            yield piece
            piece, piece_bytes = [], 0
        piece.append(each)
        piece_bytes += each_bytes
    if piece:
        yield piece
