"""What a task wrote, in a few numbers: enough to notice that a replay brings other rows."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.wire.checksum import crc32c

_COLUMNS: Final = ("key", "value")
_MODULUS: Final = 2**64
_NULL: Final = -1


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Of rows in some order; how they are cut into batches makes no difference."""

    rows: int = 0
    total: int = 0
    """The same for the same rows in another order."""
    order: tuple[int, ...] = (0, 0, 0, 0)
    """Checksums of sizes and bytes, in order."""

    def with_records(self, records: pa.RecordBatch) -> "Fingerprint":
        """The fingerprint with `records` after what was there before."""
        total = self.total
        order: list[int] = []
        for at, name in enumerate(_COLUMNS):
            sizes, data = _content(records[name])
            total += int(data.sum(dtype=np.uint64)) + (int(sizes.sum(dtype=np.int64)) << 32)
            order += [
                crc32c(sizes.data, self.order[2 * at]),
                crc32c(data.data, self.order[2 * at + 1]),
            ]
        return Fingerprint(self.rows + records.num_rows, total % _MODULUS, tuple(order))

    def has_rows_of(self, other: "Fingerprint") -> bool:
        """Whether both are of the same rows, in whatever order."""
        return (self.rows, self.total) == (other.rows, other.total)


def _content(values: pa.Array) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Return the size of each value, -1 for null, and the bytes of all."""
    _, offsets_buffer, data_buffer = values.buffers()
    if not len(values) or offsets_buffer is None:
        return np.full(len(values), _NULL, dtype=np.int32), np.empty(0, dtype=np.uint8)
    offsets = np.frombuffer(offsets_buffer, dtype=np.int32)
    offsets = offsets[values.offset : values.offset + len(values) + 1]
    sizes = np.diff(offsets)
    if values.null_count:
        sizes[values.is_null().to_numpy(zero_copy_only=False)] = _NULL
    data = np.frombuffer(data_buffer or b"", dtype=np.uint8)
    return sizes, data[offsets[0] : offsets[-1]]
