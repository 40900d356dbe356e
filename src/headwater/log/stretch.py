"""A stretch of a segment: whole batches, one behind the other, read and checked piece by piece.

At most the first piece is read at once; how far the rest reaches is known from the index. So an answer can
begin while most of it is still on disk, and a slow reader of a long one costs no memory. Damage found in a
later piece ends the stretch: the segment remembers the place, and the next stretch ends before it.
"""

from collections.abc import Callable

from headwater.errors import Corruption
from headwater.log.batch_file import Place
from headwater.log.segment import PIECE_BYTES, Segment
from headwater.wire.encoder import Deferred
from headwater.wire.record_batch import next_offset_after, read_header

Report = Callable[[Segment, int, Corruption], None]
"""Says that a segment is damaged at an offset."""


class Stretch(Deferred):
    """Batches from `rest` up to `end`, after those in `piece` that are read already."""

    def __init__(
        self,
        segment: Segment,
        rest: Place,
        end: Place,
        report: Report,
        piece: memoryview | None = None,
    ) -> None:
        super().__init__(len(piece or b"") + end.position - rest.position)
        self._segment = segment
        self._report = report
        self._piece = piece
        self._rest = rest
        self._end = end
        self.first_offset = rest.offset if piece is None else read_header(piece).base_offset

    @property
    def next_offset(self) -> int:
        """Where a reader goes on who got all of it."""
        return self._end.offset

    @property
    def is_loaded(self) -> bool:
        """Whether the next piece is at hand."""
        return self._piece is not None

    @property
    def is_spent(self) -> bool:
        return self._piece is None and self._rest.position >= self._end.position

    def take(self) -> memoryview:
        """Return the next piece; raises `NotCached` if it has to be loaded first, and `Corruption`."""
        self.load(cached=True)
        piece, self._piece = self._piece, None
        assert piece is not None
        return piece

    def load(self, *, cached: bool = False) -> None:
        """Read and check the next piece, so that `take` has it at hand; raises `Corruption`."""
        if self._piece is not None:
            return
        try:
            self._piece, self._rest = self._segment.read_piece(
                self._rest, self._end.position, PIECE_BYTES, cached=cached
            )
        except Corruption as error:
            self._report(self._segment, self._rest.offset, error)
            raise


Records = memoryview | Stretch
"""What a reader finds: all of it read, or a stretch."""


def first_offset_of(records: Records) -> int:
    return (
        records.first_offset if isinstance(records, Stretch) else read_header(records).base_offset
    )


def next_offset_of(records: Records, offset: int) -> int:
    """Where a reader goes on who asked for `offset` and got these records."""
    return (
        records.next_offset if isinstance(records, Stretch) else next_offset_after(records, offset)
    )
