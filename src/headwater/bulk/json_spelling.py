"""Whether texts are numbers as JSON writes them, many at once."""

from typing import Final

import numpy as np
import pyarrow as pa

from headwater.bulk.json_block import Flags
from headwater.bulk.varints import Bytes, Numbers

_LONGEST: Final = 40
"""So no number is too large for a float."""

_MINUS, _POINT, _ZERO = b"-.0"
_UP_TO_NINE: Final = np.uint8(ord("9") - _MINUS)


def bytes_of(texts: pa.StringArray) -> tuple[Numbers, Bytes]:
    """Return where each text starts, and where the last one ends; and the bytes of all."""
    bounds = np.frombuffer(texts.buffers()[1], dtype=np.int32)[
        texts.offset : texts.offset + len(texts) + 1
    ].astype(np.int64)
    data: Bytes = np.frombuffer(texts.buffers()[2] or b"", dtype=np.uint8)[bounds[0] : bounds[-1]]
    return bounds - bounds[0], data


def are_misspelt(texts: pa.StringArray, *, is_whole: bool) -> Flags:
    """Whether each is other than digits, perhaps with a sign before and a fraction after them.

    Exponents, long numbers and a zero that is whole but has a sign count as misspelt too. A second point or
    sign does not: Arrow refuses those.
    """
    bounds, data = bytes_of(texts)
    starts, lasts, sizes = bounds[:-1], bounds[1:] - 1, np.diff(bounds)
    misspelt: Flags = (sizes == 0) | (sizes > _LONGEST)
    if misspelt.any():
        return misspelt
    is_alien = data - np.uint8(_MINUS) > _UP_TO_NINE
    if is_whole:
        is_alien |= data == _POINT
    if is_alien.any():
        misspelt[np.searchsorted(bounds, np.flatnonzero(is_alien), side="right") - 1] = True
    has_sign = data[starts] == _MINUS
    heads = np.minimum(starts + has_sign, lasts)
    head = data[heads]
    misspelt |= ~(_are_digits(head) & _are_digits(data[lasts]))
    zeros = np.flatnonzero(head == _ZERO)
    if len(zeros):
        is_last = heads[zeros] == lasts[zeros]
        following = data[np.minimum(heads[zeros] + 1, lasts[zeros])]
        misspelt[zeros] |= np.where(is_last, has_sign[zeros], _are_digits(following))
    return misspelt


def _are_digits(data: Bytes) -> Flags:
    return data - np.uint8(_ZERO) < np.uint8(10)
