"""A file of record batches, one behind the other: read, walked, and taken up again behind damage.

It is named after the offset of its first record. Nothing here knows of indexes, or writes.
"""

import logging
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from headwater.errors import Corruption, StorageFailed
from headwater.log.disk import Buffer, Disk, File
from headwater.wire.record_batch import (
    HEADER_SIZE,
    BatchHeader,
    batch_size,
    checked_header,
    is_frame,
    read_header,
)

logger = logging.getLogger(__name__)

WALK_BYTES = 16 * 1024
SCAN_BYTES = 1 << 20
RESYNC_BYTES = 128 << 10
LARGEST_RESYNC_BYTES = 64 << 20
MAGIC_AT = 16
MAGIC_BYTE = b"\x02"
NOTHING = memoryview(b"")


class NotCached(Exception):
    """The bytes are not in the page cache: read again on a thread that may wait for the disk."""


class Place(NamedTuple):
    """Where a batch begins, and the offset that is due there."""

    position: int
    offset: int


class BatchFile:
    """The batches from `base_offset` up to `next_offset`, in `size` bytes."""

    def __init__(self, disk: Disk, directory: Path, base_offset: int) -> None:
        self._disk = disk
        self._directory = directory
        self.base_offset = base_offset
        self.next_offset = base_offset
        self.size = 0
        self.is_sparse = False
        """Whether compaction may have taken out offsets; otherwise each batch follows the one before."""
        self._file: File | None = None
        self._is_unreadable = False

    @cached_property
    def path(self) -> Path:
        return self._directory / f"{self.base_offset:020d}.log"

    @property
    def file(self) -> File:
        """Opened on first use."""
        return self._file or self.open()

    def open(self) -> File:
        """Open the file, and never make it: by now the name may belong to another topic's log."""
        if self._file is None:
            try:
                self._file = self._disk.open(self.path, create=False)
            except FileNotFoundError as error:
                raise Corruption(f"{self.path.name} is missing") from error
        return self._file

    def read(self, size: int, position: int, *, cached: bool = False) -> Buffer:
        """Return bytes; raises `StorageFailed`: what a disk cannot read concerns this log, and no other."""
        try:
            if not cached:
                return self.file.read(size, position)
            data = self.file.read_cached(size, position)
        except OSError as error:
            raise self._unreadable(error) from error
        if data is None:
            raise NotCached
        return data

    def _unreadable(self, error: OSError) -> StorageFailed:
        """Say it once: readers try again and again."""
        failed = StorageFailed(
            f"{self._directory.name}/{self.path.name} could not be read: {error}",
            hint="check the disk; what is elsewhere can be read",
        )
        if not self._is_unreadable:
            logger.error("%s", failed)
            self._is_unreadable = True
        return failed

    def walk(
        self, position: int, end: int, *, cached: bool = False
    ) -> Iterator[tuple[int, BatchHeader]]:
        """Yield (position, header) of each batch in [position, end); checksums are not looked at."""
        while position < end:
            view = memoryview(self.read(min(WALK_BYTES, end - position), position, cached=cached))
            local = 0
            while local < len(view) and is_frame(view, local):
                header = read_header(view, local)
                if position + local + header.size > end:
                    raise Corruption(
                        f"no whole batch at byte {position + local} of {self.path.name}"
                    )
                yield position + local, header
                local += header.size
            if local == 0 or (local < len(view) and len(view) - local >= HEADER_SIZE):
                raise Corruption(f"no batch at byte {position + local} of {self.path.name}")
            position += local

    def scan(
        self, position: int, end: int, expected: int
    ) -> Iterator[tuple[int, BatchHeader, memoryview]]:
        """Yield each whole batch in [position, end) with its bytes, checked; `Corruption` at a bad one."""
        while position < end:
            view = memoryview(self.read(min(SCAN_BYTES, end - position), position))
            local = 0
            while is_frame(view, local) and local + batch_size(view, local) <= len(view):
                header = checked_header(view, local, expected)
                self.refuse_misplaced(header, expected)
                yield position + local, header, view[local : local + header.size]
                local += header.size
                expected = header.next_offset
            if local == 0:
                view = self.whole_batch(view, position, end)
                header = checked_header(view, 0, expected)
                self.refuse_misplaced(header, expected)
                yield position, header, view[: header.size]
                local = header.size
                expected = header.next_offset
            position += local

    def find_from(
        self, start: Place, offset: int, end: int, *, cached: bool = False
    ) -> tuple[int, BatchHeader] | None:
        """Return (position, header) of the first batch before `end` that reaches to `offset`.

        A damaged batch hides itself, not the good ones behind it; if it may hold `offset` itself,
        `Corruption` is raised.
        """
        while start.position < end:
            last = None
            try:
                for position, header in self.walk(start.position, end, cached=cached):
                    self.refuse_misplaced(header, last[1].next_offset if last else start.offset)
                    if header.last_offset >= offset:
                        return position, header
                    last = (position, header)
                break
            except Corruption:
                resumed = self._resume(start, last, end, cached=cached)
                if resumed is None or resumed.offset > offset:
                    raise
                start = resumed
        return None

    def walk_past_damage(self) -> Iterator[tuple[int, BatchHeader]]:
        """Yield (position, header) of every batch that can be found; checksums are not looked at."""
        start = Place(0, self.base_offset)
        while start.position < self.size:
            last = None
            try:
                for position, header in self.walk(start.position, self.size):
                    self.refuse_misplaced(header, last[1].next_offset if last else start.offset)
                    last = (position, header)
                    yield position, header
                break
            except Corruption:
                resumed = self._resume(start, last, self.size)
                start = resumed or Place(self.size, self.next_offset)

    def next_batch(
        self, position: int, end: int, expected: int, *, cached: bool = False
    ) -> Place | None:
        """Look past damage for the next whole batch of `expected` or later."""
        window = RESYNC_BYTES
        while True:
            size = min(window, end - position)
            data = memoryview(self.read(size, position, cached=cached)) if size > 0 else NOTHING
            found = _whole_batch_in(data, expected)
            if found is not None:
                return Place(position + found.position, found.offset)
            if size < window or window >= LARGEST_RESYNC_BYTES:
                return None
            window *= 8

    def whole_batch(
        self, view: memoryview, position: int, end: int, *, cached: bool = False
    ) -> memoryview:
        """Read the one batch at `position`, larger than what was read of it so far."""
        if is_frame(view, 0) and position + (size := batch_size(view, 0)) <= end:
            whole = memoryview(self.read(size, position, cached=cached))
            if len(whole) == size:
                return whole
        raise Corruption(f"no whole batch at byte {position} of {self.path.name}")

    def _resume(
        self,
        start: Place,
        last: tuple[int, BatchHeader] | None,
        end: int,
        *,
        cached: bool = False,
    ) -> Place | None:
        """Find where to go on after a walk from `start` that got no further than `last`."""
        if last is None:
            return self.next_batch(start.position + 1, end, start.offset, cached=cached)
        position, header = last
        try:
            checked_header(memoryview(self.read(header.size, position, cached=cached)), 0, 0)
        except Corruption:
            # The last one is the damaged one: its length or its offsets led the walk astray.
            return self.next_batch(position + 1, end, header.base_offset + 1, cached=cached)
        return self.next_batch(position + header.size + 1, end, header.next_offset, cached=cached)

    def refuse_misplaced(self, header: BatchHeader, expected: int) -> None:
        """The offset of a batch stands outside of its checksum: its neighbours vouch for it."""
        is_early = header.base_offset < expected
        if is_early or (header.base_offset > expected and not self.is_sparse):
            raise Corruption(f"offset {header.base_offset} stands where {expected} should be")


def _whole_batch_in(data: memoryview, expected: int) -> Place | None:
    haystack = bytes(data)
    candidate = haystack.find(MAGIC_BYTE, MAGIC_AT)
    while candidate >= 0:
        start = candidate - MAGIC_AT
        if is_frame(data, start):
            try:
                return Place(start, checked_header(data, start, expected).base_offset)
            except Corruption:
                pass
        candidate = haystack.find(MAGIC_BYTE, candidate + 1)
    return None
