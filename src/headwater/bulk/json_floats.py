"""Numbers of 64 bits -> floats of 32 bits, many at once: digits are rounded, but none becomes infinite."""

import pyarrow as pa
import pyarrow.compute as pc


def single_floats(numbers: pa.DoubleArray) -> pa.FloatArray:
    """Take finite numbers, and nulls; raises `pa.ArrowInvalid` for one that is too large."""
    singles = numbers.cast(pa.float32())
    if pc.any(pc.is_inf(singles)).as_py():
        raise pa.ArrowInvalid("a number that 32 bits do not hold")
    return singles
