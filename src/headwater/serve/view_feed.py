"""What subscribers of a view see: its changes as events, each decoded and encoded once for all of them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from headwater.client.record_json import as_json
from headwater.errors import Corruption, InvalidRequest, Unavailable
from headwater.followers.changes import Positions, decode_change
from headwater.followers.follower import Follower
from headwater.followers.tail import Chunk, Tail
from headwater.serve.event_ids import EventId
from headwater.serve.events import event, in_pieces
from headwater.serve.serving import Serving, served_of
from headwater.serve.snapshots import Spool
from headwater.views import View, encode_key
from headwater.views.matching import Test, key_values, matcher
from headwater.views.where import Where, parse_where

_UNKNOWN: Final[Mapping[str, Any]] = {}
"""Stands for a row that may or may not have been there."""


@dataclass(frozen=True, slots=True)
class Change:
    place: int
    key: Mapping[str, Any]
    row: Mapping[str, Any] | None


class ViewFeed:
    """A view, or the part of it that a filter picks."""

    with_headers = False

    def __init__(
        self, follower: Follower, serving: Serving, where: Where | None, *, snapshot: bool
    ) -> None:
        self._follower = follower
        self._serving = serving
        self._view = served_of(follower).view
        self._where = where
        self._matches: Test | None = None if where is None else matcher(where)
        self._wants_snapshot = snapshot
        self._wants_before = False

    @contextmanager
    def watched(self) -> Iterator[None]:
        """As long as somebody watches, the follower looks up what rows were before, if that is needed."""
        self._want_before(self.needs_before)
        try:
            yield
        finally:
            self._want_before(False)

    @property
    def tail(self) -> Tail:
        return self._follower.tail

    @property
    def topic(self) -> str:
        return self._view.topic

    @property
    def has_snapshot(self) -> bool:
        return self._wants_snapshot

    @property
    def is_over(self) -> bool:
        return self._follower.is_stopped

    @property
    def needs_before(self) -> bool:
        """Whether rows can leave the filter without being deleted."""
        return self._where is not None and not self._where.is_about_key(self._view)

    @property
    def fresh_ms(self) -> int:
        served = self._follower.served
        return 0 if served is None else served.fresh_ms

    async def snapshot(self) -> Spool | None:
        served = served_of(self._follower)
        self._take_over(served.view)
        if not self._wants_snapshot:
            return None
        try:
            return await self._serving.snapshots.take(served, self._where, self.tail)
        except Corruption:
            self._follower.note_damage(served)
            raise

    def reason_to_resync(self, last: EventId, now_ms: int) -> str:
        now = self.tail.now
        if last.tag is not None and last.tag != now.source.tag:
            return "it was built anew"
        if not set(last.positions) <= set(now.positions):
            return "the topic does not have these partitions"
        if last.at_ms is None or self.tail.find(last.positions) is not None:
            return ""
        kept_ms = self._follower.delete_retention_ms
        if kept_ms is None:
            raise Unavailable(f"view {self._view.name!r} has just been started", hint="ask again")
        if now_ms - last.at_ms >= kept_ms:
            return "deletions since then may be gone from the topic (delete.retention.ms)"
        return ""

    def _take_over(self, view: View) -> None:
        """Go on with another version of the view; raises `InvalidRequest` if the filter does not fit."""
        if view is not self._view:
            self._view = view
            if self._where is not None:
                self._where = parse_where(view, self._where.text)
                self._matches = matcher(self._where)
            self._want_before(self.needs_before)

    def _want_before(self, wanted: bool) -> None:
        self._follower.wants_before += wanted - self._wants_before
        self._wants_before = wanted

    def encode(self, chunk: Chunk, since: Positions, *, is_sure: bool) -> list[bytes]:
        """The events of a chunk for a subscriber that has everything before `since`."""
        if chunk.before is not None and not is_sure:
            return list(in_pieces(self._events(replace(chunk, before=None), since)))
        if dict(since) != dict(chunk.poll.start):
            return list(in_pieces(self._events(chunk, since)))
        where = None if self._where is None else self._where.text
        name = ("pieces", where, chunk.fresh_ms)
        pieces: list[bytes] | None = chunk.shared.get(name)
        if pieces is None:
            pieces = list(in_pieces(self._events(chunk, since)))
            chunk.share(name, pieces)
        return pieces

    def _events(self, chunk: Chunk, since: Positions) -> Iterator[bytes]:
        poll, positions, tag = chunk.poll, dict(since), chunk.source.tag
        for change, kind in self._chosen(chunk):
            partition, offset = poll.partitions[change.place], poll.offsets[change.place]
            if offset < positions.get(partition, 0):
                continue
            positions[partition] = offset + 1
            content = {
                "kind": kind,
                "key": change.key,
                "row": change.row if kind == "upsert" else None,
                "partition": partition,
                "offset": offset,
                "timestamp_ms": poll.timestamps_ms[change.place],
            }
            yield event("change", as_json(content), str(EventId(positions, chunk.fresh_ms, tag)))

    def _chosen(self, chunk: Chunk) -> Iterator[tuple[Change, str]]:
        """The changes that this filter lets through, and what they are to its subscribers."""
        if self._where is None or self._matches is None:
            for each in self._changes(chunk):
                yield each, "delete" if each.row is None else "upsert"
        elif not self.needs_before:
            for each in self._candidates(chunk, self._where):
                if self._matches(each.key):
                    yield each, "delete" if each.row is None else "upsert"
        else:
            yield from self._entering_and_leaving(chunk, self._matches)

    def _entering_and_leaving(self, chunk: Chunk, matches: Test) -> Iterator[tuple[Change, str]]:
        """A row that does not match any more is gone for those who asked only for matching ones."""
        rows: dict[bytes, Mapping[str, Any] | None] = {}
        for each, key in zip(self._changes(chunk), self._keys(chunk), strict=True):
            if key in rows:
                before = rows[key]
            else:
                before = _UNKNOWN if chunk.before is None else chunk.before.get(key)
            rows[key] = each.row
            if each.row is not None and matches(each.row):
                yield each, "upsert"
            elif before is _UNKNOWN or (before is not None and matches(before)):
                yield each, "delete"

    def _candidates(self, chunk: Chunk, where: Where) -> list[Change]:
        """For a filter by values of the key, a look into an index; else all changes."""
        values = key_values(where, self._view)
        if values is None:
            return self._changes(chunk)
        columns = tuple(values)
        index: dict[tuple[Any, ...], list[Change]] | None = chunk.shared.get(("index", columns))
        if index is None:
            index = {}
            for each in self._changes(chunk):
                index.setdefault(tuple(each.key[name] for name in columns), []).append(each)
            chunk.shared["index", columns] = index
        return index.get(tuple(values.values()), [])

    def _keys(self, chunk: Chunk) -> list[bytes]:
        """Of the changes, in the one spelling that all of a key have."""
        keys: list[bytes] | None = chunk.shared.get("keys")
        if keys is None:
            view = chunk.source.view or self._view
            keys = [encode_key(view, each.key) for each in self._changes(chunk)]
            chunk.shared["keys"] = keys
        return keys

    def _changes(self, chunk: Chunk) -> list[Change]:
        changes: list[Change] | None = chunk.shared.get("changes")
        if changes is None:
            changes = chunk.shared["changes"] = list(
                _decoded(chunk.source.view or self._view, chunk)
            )
        return changes


def _decoded(view: View, chunk: Chunk) -> Iterator[Change]:
    """Without those that are no changes: they are in the dead-letter topic, or were replaced at once."""
    for place, (key, value) in enumerate(zip(chunk.poll.keys, chunk.poll.values, strict=True)):
        if place in chunk.rejected:
            continue
        try:
            yield Change(place, *decode_change(view, key, value))
        except InvalidRequest:
            continue
