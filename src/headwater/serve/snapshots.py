"""Snapshots for the start of a subscription: read at once, kept in a file, sent at the reader's pace.

So no reader, however slow, holds a transaction open. Subscribers that come together share one; it goes with
the last of them.
"""

import asyncio
import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from headwater.client.record_json import as_json
from headwater.errors import InvalidRequest, StorageFailed
from headwater.followers.changes import Positions
from headwater.followers.follower import tag_of
from headwater.followers.store import Store
from headwater.followers.tail import Source, Tail
from headwater.serve.events import PIECE_BYTES, event, in_pieces
from headwater.serve.shared_work import SharedWork
from headwater.serve.threads import Threads
from headwater.views import View
from headwater.views.where import Where

AT_ONCE: Final = 4


class Spool:
    """A snapshot as events, in a file without a name: it goes when nobody reads it any more."""

    def __init__(self, as_of: Positions, source: Source, fresh_ms: int, directory: Path) -> None:
        self.as_of = as_of
        self.source = source
        self.fresh_ms = fresh_ms
        """When this last was all that the topic held."""
        self.size = 0
        with _translated():
            # Without a buffer: one that cannot be written would fail once more when it is closed.
            self._file = tempfile.TemporaryFile(dir=directory, buffering=0)  # noqa: SIM115
        self.close = weakref.finalize(self, self._file.close)

    def fill(self, pieces: Iterable[bytes], max_bytes: int) -> None:
        for piece in pieces:
            self._write(piece)
            self.size += len(piece)
            if self.size > max_bytes:
                raise InvalidRequest(
                    f"the snapshot is larger than {max_bytes} bytes",
                    hint="narrow it with where=, or subscribe with snapshot=false",
                )

    def pieces(self) -> Iterator[bytes]:
        for at in range(0, self.size, PIECE_BYTES):
            with _translated():
                piece = os.pread(self._file.fileno(), PIECE_BYTES, at)
            yield piece

    def _write(self, piece: bytes) -> None:
        left = memoryview(piece)
        with _translated():
            while left:
                left = left[self._file.write(left) :]


class Snapshots:
    """Made in threads, a few at a time. One that is read is shared while the tail leads on from it."""

    def __init__(self, directory: Path, max_bytes: int, threads: Threads) -> None:
        self._directory = directory
        self._max_bytes = max_bytes
        self._threads = threads
        self._making: SharedWork[Spool] = SharedWork()
        # Held by those who read them.
        self._read: weakref.WeakValueDictionary[tuple[str, str], Spool] = (
            weakref.WeakValueDictionary()
        )
        self._room = asyncio.Semaphore(AT_ONCE)

    async def take(self, served: Store, where: Where | None, tail: Tail) -> Spool:
        """A snapshot of the rows that match, from which the tail leads on."""
        name = (served.view.name, "" if where is None else where.text)
        spool = self._read.get(name)
        if spool is None or not _is_current(spool, tail):
            spool = await self._making.do(name, lambda: self._make(served, where))
            self._read[name] = spool
        return spool

    async def _make(self, served: Store, where: Where | None) -> Spool:
        async with self._room:
            return await self._threads.run(self._spool, served, where)

    def _spool(self, served: Store, where: Where | None) -> Spool:
        fresh_ms = served.fresh_ms
        snapshot = served.reader.snapshot(where)
        try:
            source = Source(tag_of(served.topic_id, served.view), served.view)
            spool = Spool(snapshot.as_of, source, fresh_ms, self._directory)
            try:
                spool.fill(in_pieces(_event(served.view, row) for row in snapshot), self._max_bytes)
            except BaseException:
                spool.close()
                raise
            return spool
        finally:
            snapshot.close()


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageFailed(
            f"a snapshot cannot be kept: {(error.strerror or str(error)).lower()}",
            hint="free some space in the directory of the views, or subscribe with snapshot=false",
        ) from error


def _event(view: View, row: Mapping[str, Any]) -> bytes:
    key = {name: row[name] for name in view.key}
    return event("snapshot", as_json({"key": key, "row": row}))


def _is_current(spool: Spool, tail: Tail) -> bool:
    return spool.source.tag == tail.now.source.tag and tail.find(spool.as_of) is not None
