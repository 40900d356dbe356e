"""The rows that stood there before each part of a poll: the changes of the parts before it are in them."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from headwater.errors import InvalidRequest
from headwater.followers.changes import Poll, decode_change
from headwater.views import View, decode_key, encode_key
from headwater.views.spelling import key_checker, respeller

Before = Mapping[bytes, Mapping[str, Any] | None]
"""The row of each key, as `encode_key` writes it, before some changes; what is missing had none."""


def before_each_part(
    view: View, poll: Poll, rejected: frozenset[int], before: Before, part_records: int
) -> Iterator[Before]:
    """From the rows before all of the poll; `rejected` are places of records that are no changes."""
    keys = _speller(view)(poll.keys)
    earlier: defaultdict[bytes, list[int]] = defaultdict(list)

    def row_now(key: bytes) -> Mapping[str, Any] | None:
        places = earlier.get(key)
        while places:
            try:
                return decode_change(view, poll.keys[places[-1]], poll.values[places[-1]])[1]
            except InvalidRequest:  # it was replaced before anybody judged it
                places.pop()
        return before.get(key)

    for start in range(0, len(poll), part_records):
        part = keys[start : start + part_records]
        yield {key: row_now(key) for key in set(part) if key is not None}
        for place, key in enumerate(part, start):
            if key is not None and place not in rejected:
                earlier[key].append(place)


@lru_cache(maxsize=128)
def _speller(view: View) -> Callable[[Sequence[bytes | None]], Sequence[bytes | None]]:
    """The function that writes keys as `encode_key` does; None is what no key of this view is."""
    are_keys, respelt = key_checker(view), respeller(view)

    def spell(keys: Sequence[bytes | None]) -> Sequence[bytes | None]:
        found = respelt(keys)
        if None not in found and are_keys(found):  # type: ignore[arg-type]
            return found
        return [_spelt(view, key) for key in keys]

    return spell


def _spelt(view: View, key: bytes | None) -> bytes | None:
    try:
        return None if key is None else encode_key(view, decode_key(view, key))
    except InvalidRequest:
        return None
