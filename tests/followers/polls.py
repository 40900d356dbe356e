"""Polls made by hand, for tests that need no broker."""

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.followers.changes import Changes, Poll, Rejected, collapser
from headwater.followers.store import Page, Store
from headwater.views import View, encode_key
from headwater.views.rows import encode_row

Record = tuple[bytes | None, bytes | None]


def put(view: View, row: Mapping[str, Any]) -> Record:
    return encode_key(view, {name: row[name] for name in view.key}), encode_row(view, row)


def gone(view: View, **key: Any) -> Record:
    return encode_key(view, key), None


def poll(
    records: Sequence[Record], start: int = 0, *, partition: int = 0, end: int | None = None
) -> Poll:
    """Records of one partition, from offset `start` on without a gap."""
    count = len(records)
    return Poll(
        keys=[key for key, _ in records],
        values=[value for _, value in records],
        partitions=[partition] * count,
        offsets=list(range(start, start + count)),
        timestamps_ms=[1_700_000_000_000] * count,
        start={partition: start},
        next={partition: start + count if end is None else end},
    )


def apply(store: Store, found: Poll, *, caught_up_ms: int | None = None) -> list[Rejected]:
    """What was given to `reject`."""
    rejected: list[Rejected] = []
    store.apply(collapse(store.view, found), caught_up_ms=caught_up_ms, reject=rejected.extend)
    return rejected


def collapse(view: View, found: Poll) -> Changes:
    return collapser(view)(found)


def rows_of(store: Store) -> list[dict[str, Any]]:
    return store.reader.scan(None, Page(limit=1_000_000)).rows
