"""A segment: one append-only file of record batches, named after the offset of its first record.

Invariant: bytes before `durable_size` have been synced and never change. A segment knows nothing of
topics, requests or retention.
"""

from collections.abc import Iterator
from pathlib import Path

from headwater.errors import Corruption
from headwater.log.disk import Buffer, Disk, File
from headwater.log.index import Index
from headwater.wire.record_batch import (
    HEADER_SIZE,
    BatchHeader,
    batch_size,
    checked_header,
    is_frame,
    read_header,
)

WALK_BYTES = 16 * 1024
SCAN_BYTES = 1 << 20
NO_TIMESTAMP = -1


class NotCached(Exception):
    """The bytes are not in the page cache: read again on a thread that may wait for the disk."""


class Segment:
    """One file, its sparse index, and how far it is written and synced."""

    def __init__(self, disk: Disk, directory: Path, base_offset: int) -> None:
        self._disk = disk
        self._directory = directory
        self.base_offset = base_offset
        self.next_offset = base_offset
        self.size = 0
        self.durable_size = 0
        self.max_timestamp = NO_TIMESTAMP
        self.first_timestamp = NO_TIMESTAMP
        self.created_ms = 0
        self._index: Index | None = None
        self._file: File | None = None

    @property
    def path(self) -> Path:
        return self._directory / f"{self.base_offset:020d}.log"

    @property
    def index_path(self) -> Path:
        return self._directory / f"{self.base_offset:020d}.index"

    @property
    def file(self) -> File:
        if self._file is None:
            self._file = self._disk.open(self.path)
        return self._file

    @property
    def index(self) -> Index:
        if self._index is None:
            self._index = self._stored_index() or self._rebuilt_index()
        return self._index

    @index.setter
    def index(self, index: Index) -> None:
        self._index = index

    def append(self, header: BatchHeader, buffers: list[Buffer]) -> None:
        """Write one batch that is stamped with its offset; it is durable once the file is synced."""
        try:
            size = self.file.append(buffers)
        except OSError:
            self.file.truncate(self.size)
            raise
        self.note(header, self.size)
        self.size += size

    def note(self, header: BatchHeader, position: int) -> None:
        """Learn of the batch at `position`, the last so far."""
        relative = header.base_offset - self.base_offset
        self.index.note(relative, position, self.max_timestamp)
        if self.first_timestamp == NO_TIMESTAMP:
            self.first_timestamp = header.max_timestamp
        self.max_timestamp = max(self.max_timestamp, header.max_timestamp)
        self.next_offset = header.next_offset

    def find(
        self, offset: int, end: int, *, cached: bool = False
    ) -> tuple[int, BatchHeader] | None:
        """Return (position, header) of the first batch before `end` that reaches to `offset`."""
        start = self.index.position_for_offset(max(0, offset - self.base_offset))
        for position, header in self.walk(start, end, cached=cached):
            if header.last_offset >= offset:
                return position, header
        return None

    def walk(
        self, position: int, end: int, *, cached: bool = False
    ) -> Iterator[tuple[int, BatchHeader]]:
        """Yield (position, header) of each batch in [position, end); checksums are not looked at."""
        while position < end:
            view = memoryview(self.read(min(WALK_BYTES, end - position), position, cached=cached))
            local = 0
            while local < len(view) and is_frame(view, local):
                header = read_header(view, local)
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
                yield position + local, header, view[local : local + header.size]
                local += header.size
                expected = header.next_offset
            if local == 0:
                view = self._whole_batch(view, position, end)
                header = checked_header(view, 0, expected)
                yield position, header, view[: header.size]
                local = header.size
                expected = header.next_offset
            position += local

    def read(self, size: int, position: int, *, cached: bool = False) -> Buffer:
        if not cached:
            return self.file.read(size, position)
        data = self.file.read_cached(size, position)
        if data is None:
            raise NotCached
        return data

    def read_batches(
        self, position: int, end: int, max_bytes: int, *, expected: int, cached: bool = False
    ) -> memoryview:
        """Return whole, checked batches from `position` on: up to `max_bytes`, but at least one.

        A damaged batch ends the answer; if it is the first, `Corruption` is raised.
        """
        view = memoryview(self.read(min(max_bytes, end - position), position, cached=cached))
        if not is_frame(view, 0) or batch_size(view, 0) > len(view):
            view = self._whole_batch(view, position, end, cached=cached)
        good = 0
        while is_frame(view, good) and good + batch_size(view, good) <= len(view):
            try:
                header = checked_header(view, good, expected)
            except Corruption:
                if good == 0:
                    raise
                break
            good += header.size
            expected = header.next_offset
        if good == 0:
            raise Corruption(f"the batch at offset {expected} is damaged")
        return view[:good]

    def truncate(self, size: int) -> None:
        """Cut an unfinished tail."""
        self.file.truncate(size)
        self.size = size
        self.index.truncate(size)

    def write_index(self) -> None:
        """Keep the index beside the segment; it is disposable, so it is not synced."""
        data = self.index.encode(self.size, self.max_timestamp, self.next_offset)
        temporary = self.index_path.with_suffix(".index.tmp")
        self._disk.remove(temporary)
        file = self._disk.open(temporary)
        file.append([data])
        file.close()
        self._disk.rename(temporary, self.index_path)

    def load_from_index(self, size: int) -> bool:
        """Learn this sealed segment's extent from its index file; False if that cannot be trusted."""
        self.size = self.durable_size = size
        self._index = self._stored_index()
        return self._index is not None

    def take_over(self, path: Path, next_offset: int) -> None:
        """Become the segment whose file still has another name; offsets up to `next_offset` are its."""
        self._file = self._disk.open(path)
        self.size = self.durable_size = self._file.size()
        self._rebuilt_index()
        self.next_offset = next_offset

    def _whole_batch(
        self, view: memoryview, position: int, end: int, *, cached: bool = False
    ) -> memoryview:
        """Read the one batch at `position`, larger than what was read of it so far."""
        if not is_frame(view, 0) or position + batch_size(view, 0) > end:
            raise Corruption(f"no whole batch at byte {position} of {self.path.name}")
        return memoryview(self.read(batch_size(view, 0), position, cached=cached))

    def _stored_index(self) -> Index | None:
        data = self._disk.read_bytes(self.index_path)
        if data is None:
            return None
        try:
            index, log_size, self.max_timestamp, self.next_offset = Index.decode(data)
        except Corruption:
            return None
        return index if log_size == self.size else None

    def _rebuilt_index(self) -> Index:
        self._index = Index()
        self.max_timestamp = NO_TIMESTAMP
        for position, header in self.walk(0, self.size):
            self.note(header, position)
        return self._index
