"""The seam to stores: what a follower and a server need of one. `tests/followers` holds each to it.

A *store* holds one generation of one view: built once from the beginning of a topic, then kept equal to
it. Another version of the view, or another topic of that name, is another store beside it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from headwater.followers.changes import Changes, Positions, Rejected
from headwater.views import View
from headwater.views.where import Where

Row = dict[str, Any]
"""Canonical JSON values by column, in the order of the definition."""

Reject = Callable[[Sequence[Rejected]], None]
"""Called inside the transaction, before it commits: what it raises undoes everything."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows, and the positions of the changelog that they are true of."""

    rows: list[Row]
    as_of: Positions
    is_cut: bool = False
    """There would be more rows, but for their bytes."""


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of the rows: at most `limit`, in the order of the key, behind the key `after`."""

    limit: int
    after: Mapping[str, Any] | None = None
    max_bytes: int | None = None
    """Of values that have a length; there is always one row, if there is any."""
    within_s: float | None = None


class Reader(Protocol):
    """Reads a store from any thread; never waits for the writer and never makes it wait."""

    def get(self, key: Mapping[str, Any]) -> Answer:
        """The row of a canonical key, or no row."""

    def scan(self, where: Where | None, page: Page) -> Answer:
        """The rows that match, in the order of the key; raises `TimedOut` if that takes too long."""

    def snapshot(self, where: Where | None) -> "Snapshot":
        """All rows that match, as of one moment, to be read once and soon."""

    def count(self, within_s: float) -> int | None:
        """How many rows there are; None if counting takes longer."""


class Snapshot(Protocol):
    as_of: Positions

    def __iter__(self) -> Iterator[Row]: ...
    def close(self) -> None: ...


class Store(Protocol):
    """One writer at a time. Raises `StorageFailed` when it cannot write, `Corruption` when damaged."""

    @property
    def view(self) -> View: ...
    @property
    def topic_id(self) -> str: ...
    @property
    def reader(self) -> Reader: ...

    @property
    def is_complete(self) -> bool:
        """Whether it has once reached the end of its topic: from then on it is served."""

    @property
    def caught_up_ms(self) -> int | None:
        """When it last equalled the end of its topic."""

    @property
    def fresh_ms(self) -> int:
        """The same, or when it was begun: no deletion after it can have been missed."""

    def positions(self) -> dict[int, int]: ...

    def apply(
        self, changes: Changes, *, caught_up_ms: int | None, reject: Reject
    ) -> list[Rejected]:
        """Apply changes and move the positions in one transaction; returns what was rejected.

        Changes that the store has already are left out, so a batch may come twice or late. Raises
        `Conflict` for a batch that begins behind the store's position: something would be missing.
        A record that does not fit is given to `reject`, once, also if the batch comes again.
        """

    def rows(self, keys: Sequence[bytes]) -> dict[bytes, Row]:
        """The present rows of these keys."""

    def rejections(self) -> list[tuple[int, int, str]]:
        """(partition, offset, reason) of everything that was rejected so far."""

    def remember_rejections(self, rejections: Iterable[tuple[int, int, str]]) -> None:
        """Take over what an earlier store of the same topic has rejected already."""

    def mark_caught_up(self, now_ms: int) -> None: ...
    def close(self) -> None: ...


class Shelf(Protocol):
    """Where the stores of a server are kept."""

    def stores(self, name: str) -> list[Store]:
        """Every store of this view that is there, the oldest first."""

    def create(self, view: View, topic_id: str, start: Positions, now_ms: int) -> Store:
        """A new, empty store beside the others, at the positions where its topic begins."""

    def remove(self, store: Store) -> None:
        """Close a store and delete what it kept, once its last reader is done."""

    def names(self) -> list[str]:
        """The views of which there are stores."""

    def close(self) -> None: ...
