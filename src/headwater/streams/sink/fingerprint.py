"""What a task wrote, in a few numbers: enough to notice that a replay brings other rows."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from headwater.streams.sink.row_hashes import row_hashes
from headwater.wire.checksum import crc32c

VERSION: Final = 2
_MODULUS: Final = 2**64


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Of rows in some order; how they are cut into batches makes no difference."""

    rows: int = 0
    total: int = 0
    """The same for the same rows in another order: the sum of their hashes."""
    order: int = 0
    """The checksum of their hashes, in order."""
    version: int = VERSION
    """How the numbers above were made; of those made in another way only `rows` is compared."""

    def with_records(self, records: pa.RecordBatch) -> "Fingerprint":
        """The fingerprint with `records` after what was there before."""
        hashes = row_hashes(records["key"], records["value"])
        total = (self.total + int(hashes.sum(dtype=np.uint64))) % _MODULUS
        return Fingerprint(self.rows + records.num_rows, total, crc32c(hashes.data, self.order))

    def has_rows_of(self, other: "Fingerprint") -> bool:
        """Whether both are of the same rows, in whatever order."""
        if self.version != other.version:
            return self.rows == other.rows
        return (self.rows, self.total) == (other.rows, other.total)

    def has_order_of(self, other: "Fingerprint") -> bool:
        """Whether both are of the same rows in the same order."""
        return self.has_rows_of(other) and (
            self.version != other.version or self.order == other.order
        )
