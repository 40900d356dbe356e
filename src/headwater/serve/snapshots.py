"""Snapshots for the start of a subscription: read at once, kept in a file, sent at the reader's pace.

So no reader, however slow, holds a transaction open. Subscribers that come together share one.
"""

import asyncio
import os
import tempfile
import weakref
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from headwater.client.record_json import as_json
from headwater.errors import InvalidRequest
from headwater.followers.changes import Positions
from headwater.followers.follower import tag_of
from headwater.followers.store import Store
from headwater.followers.tail import Source, Tail
from headwater.serve.events import PIECE_BYTES, event, in_pieces
from headwater.views import View
from headwater.views.where import Where

KEPT: Final = 16
AT_ONCE: Final = 4


class Spool:
    """A snapshot as events, in a file without a name: it goes when nobody reads it any more."""

    def __init__(self, as_of: Positions, source: Source, fresh_ms: int, directory: Path) -> None:
        self.as_of = as_of
        self.source = source
        self.fresh_ms = fresh_ms
        """When this last was all that the topic held."""
        self.size = 0
        self._file = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115  closed with its last reader
        weakref.finalize(self, self._file.close)

    def fill(self, pieces: Iterable[bytes], max_bytes: int) -> None:
        for piece in pieces:
            self._file.write(piece)
            self.size += len(piece)
            if self.size > max_bytes:
                raise InvalidRequest(
                    f"the snapshot is larger than {max_bytes} bytes",
                    hint="narrow it with where=, or subscribe with snapshot=false",
                )
        self._file.flush()

    def pieces(self) -> Iterator[bytes]:
        for at in range(0, self.size, PIECE_BYTES):
            yield os.pread(self._file.fileno(), PIECE_BYTES, at)


class Snapshots:
    """Made in threads, a few at a time."""

    def __init__(
        self, directory: Path, max_bytes: int, in_thread: Callable[..., Awaitable[Any]]
    ) -> None:
        self._directory = directory
        self._max_bytes = max_bytes
        self._in_thread = in_thread
        self._kept: OrderedDict[tuple[str, str], asyncio.Task[Spool]] = OrderedDict()
        self._room = asyncio.Semaphore(AT_ONCE)

    async def take(self, served: Store, where: Where | None, tail: Tail) -> Spool:
        """A snapshot of the rows that match, from which the tail leads on."""
        name = (served.view.name, "" if where is None else where.text)
        made = self._kept.get(name)
        if made is None or not _is_current(made, tail):
            made = self._kept[name] = asyncio.create_task(self._make(served, where))
            self._kept.move_to_end(name)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return await asyncio.shield(made)

    async def _make(self, served: Store, where: Where | None) -> Spool:
        async with self._room:
            return await self._in_thread(self._spool, served, where)  # type: ignore[no-any-return]

    def _spool(self, served: Store, where: Where | None) -> Spool:
        fresh_ms = served.fresh_ms
        snapshot = served.reader.snapshot(where)
        try:
            spool = Spool(
                snapshot.as_of,
                Source(tag_of(served.topic_id, served.view), served.view),
                fresh_ms,
                self._directory,
            )
            events = (_event(served.view, row) for row in snapshot)
            spool.fill(in_pieces(events), self._max_bytes)
            return spool
        finally:
            snapshot.close()


def _event(view: View, row: Mapping[str, Any]) -> bytes:
    key = {name: row[name] for name in view.key}
    return event("snapshot", as_json({"key": key, "row": row}))


def _is_current(made: "asyncio.Task[Spool]", tail: Tail) -> bool:
    if not made.done():
        return True
    if made.cancelled() or made.exception() is not None:
        return False
    spool = made.result()
    return spool.source.tag == tail.now.source.tag and tail.find(spool.as_of) is not None
