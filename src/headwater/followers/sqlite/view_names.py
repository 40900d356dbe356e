"""What a query may call a view: its name or the last part of it, if need be without regard to case."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Final

_RESERVED: Final = "sqlite_"
"""Tables of SQLite's own: a view can only be called so behind a dot."""

_Names = Mapping[str, list[str]]


class ViewNames:
    """What is spelt exactly so wins, and a full name over a part; what then is found must be one view."""

    def __init__(self, known: Collection[str]) -> None:
        self._full = {name: [name] for name in known}
        self._folded_full = _folded(self._full)
        self._short: defaultdict[str, list[str]] = defaultdict(list)
        for name in known:
            self._short[name.rpartition(".")[2]].append(name)
        self._folded_short = _folded(self._short)
        self.most_parts = max((name.count(".") + 1 for name in known), default=1)

    def find(self, called: str) -> str | None:
        folded = called.lower()
        if folded.startswith(_RESERVED):
            return None
        return _only(
            self._full.get(called)
            or self._short.get(called)
            or self._folded_full.get(folded)
            or self._folded_short.get(folded)
        )

    def find_full(self, called: str) -> str | None:
        return _only(self._full.get(called) or self._folded_full.get(called.lower()))


def _only(found: list[str] | None) -> str | None:
    return found[0] if found is not None and len(found) == 1 else None


def _folded(names: _Names) -> _Names:
    folded: defaultdict[str, list[str]] = defaultdict(list)
    for name, views in names.items():
        folded[name.lower()] += views
    return folded
