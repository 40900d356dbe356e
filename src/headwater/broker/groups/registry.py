"""The groups there are, by id."""

from collections.abc import Iterator

from headwater.broker.deadlines import Deadlines
from headwater.broker.groups.group import Group, Store
from headwater.broker.groups.settings import GroupSettings


class Registry:
    """Owns every group; groups are made on first use."""

    def __init__(self, settings: GroupSettings, deadlines: Deadlines, store: Store) -> None:
        self.settings = settings
        self._deadlines = deadlines
        self._store = store
        self._groups: dict[str, Group] = {}

    def __iter__(self) -> Iterator[Group]:
        return iter(tuple(self._groups.values()))

    def find(self, group_id: str) -> Group | None:
        return self._groups.get(group_id)

    def find_or_create(self, group_id: str) -> Group:
        group = self._groups.get(group_id)
        if group is None:
            group = self._groups[group_id] = Group(
                group_id, self.settings, self._deadlines, self._store
            )
        return group

    def remove(self, group_id: str) -> None:
        self._groups.pop(group_id, None)
