"""What a read of a changelog brought, and what of it is to be done: the last change per key.

Columns instead of objects: at hundreds of thousands of records a second nothing here is done record by
record in Python, except for records that are not written as the contract says.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from headwater.errors import HeadwaterError, InvalidRequest
from headwater.views import Column, View, decode_key
from headwater.views.keys import encode_key

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
    """The last change per key of a poll. `..._at` are the places of the records in the poll."""

    poll: Poll
    upserts: Sequence[bytes]
    """JSON objects that begin with the columns of the key."""
    upserts_at: Sequence[int]
    deletes: Sequence[bytes] = ()
    """Keys."""
    deletes_at: Sequence[int] = ()
    rejected: Sequence[Rejected] = ()

    def keys(self) -> list[bytes]:
        """The keys of all changes, as they were written."""
        found = (self.poll.keys[at] for at in (*self.upserts_at, *self.deletes_at))
        return [key for key in found if key is not None]

    def since(self, positions: Positions) -> "Changes":
        """Without what a store at these positions has already."""
        partitions, offsets = self.poll.partitions, self.poll.offsets

        def is_new(place: int) -> bool:
            return offsets[place] >= positions.get(partitions[place], 0)

        upserts = [
            (r, at) for r, at in zip(self.upserts, self.upserts_at, strict=True) if is_new(at)
        ]
        deletes = [
            (k, at) for k, at in zip(self.deletes, self.deletes_at, strict=True) if is_new(at)
        ]
        return Changes(
            self.poll,
            [row for row, _ in upserts],
            [at for _, at in upserts],
            [key for key, _ in deletes],
            [at for _, at in deletes],
            [each for each in self.rejected if is_new(each.place)],
        )


_VALUES: Final = {
    "boolean": rb"(?:true|false)",
    "integer": rb"-?\d+",
    "floating": rb'(?:-?\d[-+.\deE]*|"NaN"|"-?Infinity")',
    "decimal": rb'"?-?\d[-+.\deE]*"?',
}
_TEXT: Final = rb'"[^"\\]*(?:\\.[^"\\]*)*"'


def collapser(view: View) -> Callable[[Poll], Changes]:
    """The function that reduces polls of this view's topic to the last change per key."""
    is_key = re.compile(
        rb"\{" + b",".join(_field_pattern(each) for each in view.key_columns) + rb"\}", re.DOTALL
    ).fullmatch

    def collapse(poll: Poll) -> Changes:
        last = dict(zip(poll.keys, range(len(poll)), strict=True))
        keys, places = list(last), list(last.values())
        if None in last or not all(map(is_key, keys)):  # type: ignore[arg-type]
            return _collapse_odd(view, poll)
        values = [poll.values[place] for place in places]
        if None not in values:
            return (
                Changes(poll, values, places)  # type: ignore[arg-type]
                if _belong_together(keys, values)
                else _collapse_odd(view, poll)
            )
        upserts = [place for place in places if poll.values[place] is not None]
        rows = [poll.values[place] for place in upserts]
        if not _belong_together([poll.keys[place] for place in upserts], rows):
            return _collapse_odd(view, poll)
        deletes = [place for place in places if poll.values[place] is None]
        return Changes(poll, rows, upserts, [poll.keys[place] for place in deletes], deletes)  # type: ignore[arg-type,misc]

    return collapse


def _field_pattern(column: Column) -> bytes:
    return re.escape(f'"{column.name}":'.encode()) + _VALUES.get(column.type.kind, _TEXT)


def _belong_together(keys: list[Any], values: list[Any]) -> bool:
    """Whether each value begins with the columns of its key."""
    return all(map(bytes.startswith, values, [key[:-1] + b"," for key in keys]))


def _collapse_odd(view: View, poll: Poll) -> Changes:
    """Record by record: what can be read is brought into the usual form, the rest is rejected."""
    last: dict[bytes, tuple[int, bytes | None]] = {}
    rejected = []
    for place, (key, value) in enumerate(zip(poll.keys, poll.values, strict=True)):
        try:
            if key is None:
                raise InvalidRequest("the record has no key")
            values = decode_key(view, key)
            row = None if value is None else _with_key_first(view, values, value)
            last[encode_key(view, values)] = place, row
        except HeadwaterError as error:
            rejected.append(Rejected(place, error.what))
    upserts = [(row, place) for place, row in last.values() if row is not None]
    deletes = [(key, place) for key, (place, row) in last.items() if row is None]
    return Changes(
        poll,
        [row for row, _ in upserts],
        [place for _, place in upserts],
        [key for key, _ in deletes],
        [place for _, place in deletes],
        rejected,
    )


def _with_key_first(view: View, key: Mapping[str, Any], value: bytes) -> bytes:
    try:
        content = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"the value is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise InvalidRequest("the value is not a JSON object")
    for column in view.key_columns:
        if column.type.canonical(content.get(column.name)) != key[column.name]:
            raise InvalidRequest(f"{column.name} is not the same in key and value")
    # Said twice in one object, and equal: stores read the first, which is canonical.
    rest = value.strip()[1:]
    joint = b"" if rest.strip() == b"}" else b","
    return encode_key(view, key)[:-1] + joint + rest
