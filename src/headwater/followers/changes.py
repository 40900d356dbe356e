"""What a read of a changelog brought, and what of it is to be done: the last change per key.

Columns instead of objects: at hundreds of thousands of records a second nothing here is done record by
record in Python, except for records that are not written as the contract says.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from headwater.errors import HeadwaterError, InvalidRequest
from headwater.views import View, decode_key
from headwater.views.keys import encode_key
from headwater.views.rows import decode_row, encode_canonical
from headwater.views.spelling import key_checker, keys_in_rows, respeller

Positions = Mapping[int, int]
"""Partition -> the next offset: everything before it is in."""


@dataclass(frozen=True, slots=True)
class Poll:
    """Records as they were read, each partition in its order.

    `start` and `next` are the positions before and after: offsets that no reader sees (markers of
    transactions, compacted records) lie between them too.
    """

    keys: list[bytes | None]
    values: list[bytes | None]
    partitions: list[int]
    offsets: list[int]
    timestamps_ms: list[int]
    start: Positions
    next: Positions
    end: Positions = field(default_factory=dict)
    """Where the partitions were last seen to end."""
    is_caught_up: bool = False
    """Whether every partition was at its end when this was read."""
    headers: list[tuple[tuple[str, bytes | None], ...]] | None = None
    """Only for readers who asked for them."""

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that cannot be applied: its place in the poll, and why."""

    place: int
    reason: str


@dataclass(frozen=True, slots=True)
class Changes:
    """The last change per key of a poll, in the order of keys: neighbours share pages of a store.

    `..._at` are the places of the records in the poll.
    """

    poll: Poll
    upserts: Sequence[bytes]
    """JSON objects, each column in them once."""
    upserts_at: Sequence[int]
    upserted: Sequence[bytes]
    """The keys of the upserts, as `encode_key` writes them."""
    deletes: Sequence[bytes] = ()
    """Keys, as `encode_key` writes them."""
    deletes_at: Sequence[int] = ()
    rejected: Sequence[Rejected] = ()

    def keys(self) -> list[bytes]:
        """The keys of all changes, as `encode_key` writes them."""
        return [*self.upserted, *self.deletes]

    def since(self, positions: Positions) -> "Changes":
        """Without what a store at these positions has already."""
        partitions, offsets = self.poll.partitions, self.poll.offsets

        def is_new(place: int) -> bool:
            return offsets[place] >= positions.get(partitions[place], 0)

        upserts = [
            (row, at, key)
            for row, at, key in zip(self.upserts, self.upserts_at, self.upserted, strict=True)
            if is_new(at)
        ]
        deletes = [
            (k, at) for k, at in zip(self.deletes, self.deletes_at, strict=True) if is_new(at)
        ]
        return Changes(
            self.poll,
            [row for row, _, _ in upserts],
            [at for _, at, _ in upserts],
            [key for _, _, key in upserts],
            [key for key, _ in deletes],
            [at for _, at in deletes],
            [each for each in self.rejected if is_new(each.place)],
        )


@lru_cache(maxsize=128)
def collapser(view: View) -> Callable[[Poll], Changes]:
    """The function that reduces polls of this view's topic to the last change per key."""
    are_keys, keys_in, respelt = key_checker(view), keys_in_rows(view), respeller(view)

    def collapse(poll: Poll) -> Changes:
        keys = respelt(poll.keys)
        last = dict(zip(keys, range(len(poll)), strict=True))
        if None in last:
            return _collapse_odd(view, poll)
        places = [last[key] for key in sorted(last)]  # type: ignore[type-var]  # none is None
        upserts = [place for place in places if poll.values[place] is not None]
        rows = [poll.values[place] for place in upserts]
        upserted = keys_in(rows)  # type: ignore[arg-type]
        if upserted is None or upserted != [keys[place] for place in upserts]:
            return _collapse_odd(view, poll)
        if len(rows) == len(last):
            return Changes(poll, rows, upserts, upserted)  # type: ignore[arg-type]
        deletes = [place for place in places if poll.values[place] is None]
        deleted = [keys[place] for place in deletes]
        if not are_keys(deleted):  # type: ignore[arg-type]
            return _collapse_odd(view, poll)
        return Changes(poll, rows, upserts, upserted, deleted, deletes)  # type: ignore[arg-type]

    return collapse


def _collapse_odd(view: View, poll: Poll) -> Changes:
    """Record by record: what can be read is brought into the usual form, the rest is rejected."""
    last: dict[bytes, tuple[int, bytes | None]] = {}
    rejected = []
    for place, (key, value) in enumerate(zip(poll.keys, poll.values, strict=True)):
        try:
            values, row = decode_change(view, key, value)
            last[encode_key(view, values)] = (
                place,
                None if row is None else encode_canonical(view, row),
            )
        except HeadwaterError as error:
            rejected.append(Rejected(place, error.what))
    by_key = sorted(last.items())
    upserts = [(row, place, key) for key, (place, row) in by_key if row is not None]
    deletes = [(key, place) for key, (place, row) in by_key if row is None]
    return Changes(
        poll,
        [row for row, _, _ in upserts],
        [place for _, place, _ in upserts],
        [key for _, _, key in upserts],
        [key for key, _ in deletes],
        [place for _, place in deletes],
        rejected,
    )


def decode_change(
    view: View, key: bytes | None, value: bytes | None
) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
    """The key of a record, and its row if it has one; raises `InvalidRequest` if it is no change."""
    if key is None:
        raise InvalidRequest("the record has no key")
    values = decode_key(view, key)
    if value is None:
        return values, None
    row = decode_row(view, value)
    for name in view.key:
        if row[name] != values[name]:
            raise InvalidRequest(f"{name} is not the same in key and value")
    return values, row
