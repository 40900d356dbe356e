"""The simplest store there can be: a dictionary. It is what the others are compared with."""

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from headwater.errors import Conflict, HeadwaterError
from headwater.followers.changes import Changes, Positions, Rejected
from headwater.followers.store import Answer, Page, Reject, Row
from headwater.views import View, decode_key
from headwater.views.matching import matcher
from headwater.views.rows import decode_row
from headwater.views.where import Where


class MemoryStore:
    def __init__(self, view: View, topic_id: str, start: Positions, now_ms: int) -> None:
        self.view = view
        self.topic_id = topic_id
        self.is_complete = False
        self.caught_up_ms: int | None = None
        self._begun_ms = now_ms
        self._rows: dict[tuple[Any, ...], Row] = {}
        self._positions = dict(start)
        self._rejected: dict[tuple[int, int], str] = {}

    @property
    def reader(self) -> "MemoryStore":
        return self

    @property
    def fresh_ms(self) -> int:
        return self.caught_up_ms or self._begun_ms

    def positions(self) -> dict[int, int]:
        return dict(self._positions)

    def apply(
        self, changes: Changes, *, caught_up_ms: int | None, reject: Reject
    ) -> list[Rejected]:
        poll = changes.poll
        for partition, offset in poll.start.items():
            if offset > self._positions.get(partition, -1):
                raise Conflict("something would be missing")
        wanted = changes.since(self._positions)
        rows = dict(self._rows)
        rejected = list(wanted.rejected)
        for value, place in zip(wanted.upserts, wanted.upserts_at, strict=True):
            try:
                row = self._checked(value)
                rows[self._at(row)] = row
            except HeadwaterError as error:
                rejected.append(Rejected(place, error.what))
        for key in wanted.deletes:
            rows.pop(tuple(decode_key(self.view, key).values()), None)
        places = {
            each: (poll.partitions[each.place], poll.offsets[each.place]) for each in rejected
        }
        unknown = [each for each in rejected if places[each] not in self._rejected]
        if unknown:
            reject(unknown)
        self._rows = rows
        self._rejected |= {places[each]: each.reason for each in rejected}
        for partition, offset in poll.next.items():
            self._positions[partition] = max(offset, self._positions.get(partition, 0))
        if caught_up_ms is not None:
            self.mark_caught_up(caught_up_ms)
        return rejected

    def rows(self, keys: Sequence[bytes]) -> dict[bytes, Row]:
        found = {key: self._rows.get(tuple(decode_key(self.view, key).values())) for key in keys}
        return {key: copy.deepcopy(row) for key, row in found.items() if row is not None}

    def rejections(self) -> list[tuple[int, int, str]]:
        return [(*place, reason) for place, reason in self._rejected.items()]

    def remember_rejections(self, rejections: Iterable[tuple[int, int, str]]) -> None:
        self._rejected |= {(partition, offset): reason for partition, offset, reason in rejections}

    def mark_caught_up(self, now_ms: int) -> None:
        self.is_complete, self.caught_up_ms = True, now_ms

    def close(self) -> None: ...

    def get(self, key: Mapping[str, Any]) -> Answer:
        row = self._rows.get(tuple(key[name] for name in self.view.key))
        return Answer([] if row is None else [row], self.positions())

    def scan(self, where: Where | None, page: Page) -> Answer:
        matches = (lambda _: True) if where is None else matcher(where)
        after = None if page.after is None else tuple(page.after[name] for name in self.view.key)
        rows = [
            self._rows[at]
            for at in sorted(self._rows)
            if (after is None or at > after) and matches(self._rows[at])
        ]
        return _page(rows, page, self.positions())

    def snapshot(self, where: Where | None) -> "MemorySnapshot":
        answer = self.scan(where, Page(limit=1_000_000))
        return MemorySnapshot(answer.rows, answer.as_of)

    def count(self, within_s: float) -> int | None:
        assert within_s > 0
        return len(self._rows)

    def _at(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in self.view.key)

    def _checked(self, value: bytes) -> Row:
        row = decode_row(self.view, value)
        for column in self.view.columns:
            if row[column.name] is None and not column.is_nullable:
                raise HeadwaterError(f"{column.name} is null or missing")
        return row


class MemorySnapshot:
    def __init__(self, rows: list[Row], as_of: Positions) -> None:
        self._rows = rows
        self.as_of = as_of

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def close(self) -> None: ...


class MemoryShelf:
    def __init__(self) -> None:
        self._stores: list[MemoryStore] = []

    def stores(self, name: str) -> list[MemoryStore]:
        return [each for each in self._stores if each.view.name == name]

    def create(self, view: View, topic_id: str, start: Positions, now_ms: int) -> MemoryStore:
        self._stores.append(MemoryStore(view, topic_id, start, now_ms))
        return self._stores[-1]

    def remove(self, store: MemoryStore) -> None:
        self._stores.remove(store)

    def names(self) -> list[str]:
        return sorted({each.view.name for each in self._stores})

    def close(self) -> None: ...


def _page(rows: list[Row], page: Page, as_of: Positions) -> Answer:
    """Values without a length are eight bytes."""
    found: list[Row] = []
    size = 0
    for row in rows[: page.limit]:
        size += sum(len(each) if isinstance(each, str) else 8 for each in row.values())
        if found and page.max_bytes is not None and size > page.max_bytes:
            return Answer(found, as_of, is_cut=True)
        found.append(row)
    return Answer(found, as_of)
