"""Whether all that a group is to read is somebody's: while members come and go, some of it is nobody's."""

from collections.abc import Callable, Iterable

from headwater.client.admin.groups import Groups
from headwater.client.log_offsets import LogOffsets
from headwater.client.offset_range import OffsetRange
from headwater.client.read_bounds import Partition


class Shares:
    """Asks for what one group keeps of a bounded read; `member` is the id of who wants to know."""

    def __init__(
        self,
        group: str,
        member: Callable[[], str | None],
        offsets: OffsetRange,
        groups: Groups,
        log: LogOffsets,
    ) -> None:
        self._group = group
        self._member = member
        self._offsets = offsets
        self._groups = groups
        self._log = log

    def are_settled(self, others: Iterable[Partition]) -> bool:
        """Whether each of these partitions belongs to another member, or has been read to its bound.

        A member that is done may leave then: nothing that was taken from it, or that it was still to
        get, is left to nobody. The group may have given it more than it has been told of yet.
        """
        left = set(others)
        if left:
            left -= self._groups.owned_by_others(self._group, self._member())
        if not left:
            return True
        committed = self._groups.committed(self._group)
        return all(
            bounds.until is not None and committed.get(partition, bounds.start) >= bounds.until
            for partition, bounds in self._log.resolve_range(self._offsets, left).items()
        )
