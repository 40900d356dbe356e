"""A segment: one append-only file of record batches, named after the offset of its first record.

Invariants: bytes before `durable_size` have been synced and never change; the last batch of a sealed
segment ends where the next segment begins, so lost bytes are noticed. A segment knows nothing of topics,
requests or retention.
"""

from contextlib import suppress
from pathlib import Path

from headwater.errors import Corruption, HeadwaterError
from headwater.log.aborted import AbortedIndex
from headwater.log.batch_file import NOTHING, BatchFile, NotCached, Place
from headwater.log.disk import Buffer, Disk, File, put
from headwater.log.index import Index
from headwater.wire.markers import EndMarker, decode_marker
from headwater.wire.record_batch import (
    HEADER_SIZE,
    BatchHeader,
    batch_size,
    checked_header,
    is_frame,
)

TRIMMED_FROM_BYTES = 256 << 10
PIECE_BYTES = 1 << 20
"""What readers are given at once: it is still in the processor's cache when it is sent."""
NO_TIMESTAMP = -1


class Segment(BatchFile):
    """One file, its sparse index, and how far it is written and synced."""

    def __init__(self, disk: Disk, directory: Path, base_offset: int) -> None:
        super().__init__(disk, directory, base_offset)
        self.durable_size = 0
        self.max_timestamp = NO_TIMESTAMP
        self.created_ms = 0
        self._first_timestamp: int | None = None
        self._index: Index | None = None
        self._aborted: AbortedIndex | None = None
        self.damaged: frozenset[Place] = frozenset()
        """Where a batch was found damaged: what is read in pieces ends before it.

        Replaced, never changed: threads find damage while others look.
        """

    @property
    def index_path(self) -> Path:
        return self._directory / f"{self.base_offset:020d}.index"

    @property
    def aborted_path(self) -> Path:
        return self._directory / f"{self.base_offset:020d}.txnindex"

    @property
    def newest_ms(self) -> int:
        """The time of its newest record; where no record has one, when it was last written to."""
        if self.max_timestamp >= 0:
            return self.max_timestamp
        return self._disk.modified_ms(self.path)

    @property
    def first_timestamp(self) -> int:
        """The time of the first batch that has one; read from the file where no batch was noted."""
        if self._first_timestamp is None:
            self._first_timestamp = self._stored_first_timestamp()
        return self._first_timestamp

    @property
    def index(self) -> Index:
        if self._index is None:
            self._index = self._stored_index() or self._rebuilt_index()
        return self._index

    def begin(self, now_ms: int) -> None:
        """Be a new segment, with nothing in it."""
        self._file = self._disk.open(self.path)
        self.forget()
        self.created_ms = now_ms

    def forget(self) -> None:
        """Be a segment of which nothing is known but its size; every batch is to be noted."""
        self._index = Index()
        self._aborted = AbortedIndex()
        self.max_timestamp = self._first_timestamp = NO_TIMESTAMP

    def aborted_index(self, *, cached: bool = False) -> AbortedIndex:
        """Return the transactions aborted in this segment; with `cached`, raises `NotCached`."""
        if self._aborted is None:
            if cached:
                raise NotCached
            self._aborted = self._stored_aborted() or self._rebuilt_aborted()
        return self._aborted

    def append(
        self, header: BatchHeader, buffers: list[Buffer], marker: EndMarker | None = None
    ) -> None:
        """Write one batch that is stamped with its offset; it is durable once the file is synced."""
        if self._aborted is None:
            self.aborted_index()  # Its file speaks of the segment as it is; later all would be read.
        try:
            size = self.file.append(buffers)
        except OSError:
            self.file.truncate(self.size)
            raise
        self.note(header, self.size, marker)
        self.size += size

    def note(self, header: BatchHeader, position: int, marker: EndMarker | None = None) -> None:
        """Learn of the batch at `position`, the last so far, and of the end marker in it."""
        if header.is_control:
            marker = marker or self.marker_at(header, position)
            if marker is not None:
                self.aborted_index().note(header, marker)
        relative = header.base_offset - self.base_offset
        self.index.note(relative, position, self.max_timestamp)
        if self.first_timestamp == NO_TIMESTAMP:
            self._first_timestamp = header.max_timestamp
        self.max_timestamp = max(self.max_timestamp, header.max_timestamp)
        self.next_offset = header.next_offset

    def marker_at(self, header: BatchHeader, position: int) -> EndMarker | None:
        """Read the end marker in a control batch; None if it holds none, or is damaged."""
        try:
            batch = memoryview(self.read(header.size, position))
            checked_header(batch, 0, header.base_offset)
            return decode_marker(batch)
        except Corruption:
            return None

    def find(
        self, offset: int, end: int, *, cached: bool = False, start: Place | None = None
    ) -> tuple[int, BatchHeader] | None:
        """Return (position, header) of the first batch before `end` that reaches to `offset`."""
        return self.find_from(start or self._indexed_place(offset), offset, end, cached=cached)

    def read_piece(
        self, start: Place, end: int, max_bytes: int, *, cached: bool = False
    ) -> tuple[memoryview, Place]:
        """Return whole, checked batches, up to `max_bytes`, but at least one; and where to go on.

        A damaged batch ends the piece, and its place is remembered; if it is the first, `Corruption` is
        raised.
        """
        position, expected = start
        wanted, there = max(max_bytes, HEADER_SIZE), end - position
        size = there if there <= wanted else self._trimmed(wanted, position)
        view = memoryview(self.read(size, position, cached=cached))
        good = 0
        try:
            if not is_frame(view, 0) or batch_size(view, 0) > len(view):
                view = self.whole_batch(view, position, end, cached=cached)
            while is_frame(view, good) and good + batch_size(view, good) <= len(view):
                header = checked_header(view, good, expected)
                self.refuse_misplaced(header, expected)
                good += header.size
                expected = header.next_offset
        except Corruption:
            self.damaged |= {Place(position + good, expected)}
            if good == 0:
                raise
        return view[:good], Place(position + good, expected)

    def read_from(
        self, offset: int, end: int, max_bytes: int, *, cached: bool = False, strict: bool = False
    ) -> tuple[memoryview, Place] | None:
        """Return a first piece, from the batch that holds `offset` on; None if all are older.

        At least one batch, however large; with `strict`, nothing if it is larger than `max_bytes`.
        Raises `Corruption` if that batch is damaged, or if damage may have taken it.
        """
        indexed = self._indexed_place(offset)
        if indexed.offset == offset and indexed.position < end and not strict:
            # Who reads on asks for the first record of a batch: its place is known, as is what follows.
            with suppress(Corruption):
                return self.read_piece(indexed, end, min(max_bytes, PIECE_BYTES), cached=cached)
        found = self.find(offset, end, cached=cached)
        while found is not None:
            position, header = found
            first = Place(position, header.base_offset)
            if strict and header.size > max_bytes:
                return NOTHING, first
            try:
                return self.read_piece(first, end, min(max_bytes, PIECE_BYTES), cached=cached)
            except Corruption:
                # A damaged header may claim offsets of the batches behind it.
                start = self.next_batch(position + 1, end, header.base_offset + 1, cached=cached)
                if start is None or start.offset > offset:
                    raise
                found = self.find(offset, end, cached=cached, start=start)
        return None

    def places(
        self, offset: int, end: Place, max_bytes: int, *, cached: bool = False
    ) -> tuple[Place, Place] | None:
        """Return where the batch that holds `offset` begins, and where to stop after `max_bytes`.

        None if that is not known without reading what lies between.
        """
        found = self.find(offset, end.position, cached=cached)
        if found is None or found[1].size > max_bytes:
            return None
        first = Place(found[0], found[1].base_offset)
        last = self.last_place(first, first.position + max_bytes, end)
        return (first, last) if first < last else None

    def last_place(self, start: Place, position: int, end: Place) -> Place:
        """Return the last place up to `position` that is known to lie between two batches.

        At least `start`, at most `end`, and not beyond damage that is known.
        """
        end = min((each for each in self.damaged if start <= each < end), default=end)
        return end if end.position <= position else max(start, self._last_indexed(position))

    def find_position(self, offset: int) -> int:
        """Return a position near which `offset` should be."""
        return self._indexed_place(offset).position

    def truncate(self, size: int) -> None:
        """Cut an unfinished tail."""
        self.file.truncate(size)
        self.size = size
        self.index.truncate(size)

    def write_indexes(self) -> None:
        """Keep the indexes beside the segment; they are disposable, so they are not synced."""
        encoded = self.index.encode(self.size, self.max_timestamp, self.next_offset)
        put(self._disk, self.index_path, encoded)
        put(self._disk, self.aborted_path, self.aborted_index().encode(self.size))

    def remove_indexes(self) -> None:
        self._disk.remove(self.index_path)
        self._disk.remove(self.aborted_path)

    def remove(self) -> None:
        """Remove the segment's files."""
        self.remove_indexes()
        self._disk.remove(self.path)

    def load_from_index(self, size: int) -> bool:
        """Learn this sealed segment's extent from its index file, or else from its batches.

        Returns whether the index file could be trusted.
        """
        self.size = self.durable_size = size
        self._index = self._stored_index()
        is_stored = self._index is not None
        self._index = self._index or self._rebuilt_index()
        return is_stored

    def take_over(self, file: File, replaced: "Segment") -> None:
        """Become the segment whose file still has another name; it ends where `replaced` does."""
        self._file = file
        self.size = self.durable_size = self._file.size()
        # The index files beside it are those of what it replaces: they know of markers that are gone.
        self._index, self._aborted = self._rebuilt()
        self._aborted.stable_to = replaced.aborted_index().stable_to
        self.next_offset = replaced.next_offset

    def _indexed_place(self, offset: int) -> Place:
        relative, position = self.index.entry_for_offset(max(0, offset - self.base_offset))
        return Place(position, self.base_offset + relative)

    def _trimmed(self, size: int, position: int) -> int:
        """Return how much to read so that it does not end in the middle of a batch, as far as is known.

        Only of long reads: a short one would lose more than it saves, as the index is sparse.
        """
        if size < TRIMMED_FROM_BYTES:
            return size
        known = self._last_indexed(position + size).position - position
        return known if known > 0 else size

    def _last_indexed(self, position: int) -> Place:
        """Return the last place up to `position` that the index knows."""
        relative, found = self.index.entry_for_position(position)
        return Place(found, self.base_offset + relative)

    def _stored_first_timestamp(self) -> int:
        """Read the first batch; what cannot be read counts as being as young as the rest."""
        with suppress(HeadwaterError):
            for _, header in self.walk(0, self.size):
                return header.max_timestamp
        return self.max_timestamp

    def _stored(self, path: Path) -> bytes | None:
        """What an index file holds; None if it is made anew."""
        try:
            return self._disk.read_bytes(path)
        except OSError:
            return None

    def _stored_index(self) -> Index | None:
        data = self._stored(self.index_path)
        if data is None:
            return None
        try:
            index, log_size, max_timestamp, next_offset = Index.decode(data)
        except Corruption:
            return None
        if log_size != self.size:
            return None
        self.max_timestamp, self.next_offset = max_timestamp, next_offset
        return index

    def _rebuilt_index(self) -> Index:
        index, aborted = self._rebuilt()
        if self._aborted is None:
            self._aborted = self._stored_aborted() or aborted
        return index

    def _rebuilt(self) -> tuple[Index, AbortedIndex]:
        """Read all batches anew; readers on other threads see the old state or the new, nothing between."""
        copy = Segment(self._disk, self._directory, self.base_offset)
        copy._file, copy.size, copy.is_sparse = self.file, self.size, self.is_sparse
        copy.forget()
        for position, header in copy.walk_past_damage():
            copy.note(header, position)
        self.max_timestamp = copy.max_timestamp
        if copy.next_offset > self.base_offset:
            self.next_offset = copy.next_offset
        self._first_timestamp = copy.first_timestamp
        return copy.index, copy.aborted_index()

    def _stored_aborted(self) -> AbortedIndex | None:
        data = self._stored(self.aborted_path)
        if data is None:
            return None
        try:
            index, log_size = AbortedIndex.decode(data)
        except Corruption:
            return None
        # If the segment has lost its end, the index still knows of markers that were there.
        return index if log_size >= self.size else None

    def _rebuilt_aborted(self) -> AbortedIndex:
        index = AbortedIndex()
        for position, header in self.walk_past_damage():
            if header.is_control and (marker := self.marker_at(header, position)) is not None:
                index.note(header, marker)
        return index
