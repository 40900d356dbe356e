"""Which protocol (assignor) a group uses: of those that all members know, the one most want."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeAlias

Protocols: TypeAlias = tuple[tuple[str, bytes], ...]
"""A member's protocols, most wanted first: name and metadata, opaque to the broker."""


class Ballot:
    """Counts how many members know each protocol."""

    def __init__(self) -> None:
        self._known_by: Counter[str] = Counter()

    def add(self, protocols: Protocols) -> None:
        self._known_by.update(name for name, _ in protocols)

    def remove(self, protocols: Protocols) -> None:
        self._known_by.subtract(name for name, _ in protocols)
        self._known_by = +self._known_by  # forget names that nobody knows any more

    def has_common(self, names: Iterable[str], member_count: int) -> bool:
        """Whether one of the names is known by all members."""
        return any(self._known_by[name] == member_count for name in names)

    def elect(self, voters: Sequence[Protocols]) -> str:
        """Return the protocol with most votes; each voter votes for its first that all know."""
        common = {name for name, count in self._known_by.items() if count == len(voters)}
        votes = Counter(
            next(name for name, _ in protocols if name in common) for protocols in voters
        )
        return votes.most_common(1)[0][0]
