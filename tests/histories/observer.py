"""What the broker tells about groups and partitions: where groups stand, how far partitions are stable."""

import threading
import time
from typing import Final

from conformance.raw import Connection, ErrorCode
from histories.history import End, Isolation, Partition, Position
from histories.topics import ALL

EVERY_S: Final = 0.1
PATIENCE_S: Final = 30
LATEST: Final = -1


class Observer:
    """A thread that asks for the positions of groups again and again; a broker that is down is no news."""

    def __init__(self, bootstrap: str, groups: list[str]) -> None:
        self.positions: list[Position] = []
        self._bootstrap = bootstrap
        self._groups = groups
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._observe, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> tuple[Position, ...]:
        """Everything that was told; the last positions are those that no transaction can change."""
        self._is_over.set()
        self._thread.join()
        with Connection(self._bootstrap) as connection:
            for group in self._groups:
                self.positions += _stable_positions(connection, group)
        return tuple(self.positions)

    def _observe(self) -> None:
        while not self._is_over.wait(EVERY_S):
            try:
                with Connection(self._bootstrap) as connection:
                    while not self._is_over.wait(EVERY_S):
                        for group in self._groups:
                            self.positions += _positions(connection, group) or []
            except OSError:
                continue


def _stable_positions(connection: Connection, group: str) -> list[Position]:
    deadline = time.monotonic() + PATIENCE_S
    while (found := _positions(connection, group, is_final=True)) is None:
        assert time.monotonic() < deadline, f"the offsets of {group} do not become stable"
    return found


def _positions(
    connection: Connection, group: str, *, is_final: bool = False
) -> list[Position] | None:
    """Where a group stands; none if the broker cannot tell yet. A final position is a stable one."""
    answer = connection.request(
        "offset_fetch", 7, group_id=group, topics=None, require_stable=is_final
    )
    now = time.monotonic()
    found = [(topic.name, each) for topic in answer.topics for each in topic.partitions]
    if answer.error_code != ErrorCode.none or any(each.error_code for _, each in found):
        return None
    return [
        Position(group, (topic, each.partition_index), each.committed_offset, now, is_final)
        for topic, each in found
        if each.committed_offset >= 0
    ]


def ends(bootstrap: str, within_s: float = PATIENCE_S) -> tuple[End, ...]:
    """The ends of all partitions, once they are stable or when there was time enough for that."""
    deadline = time.monotonic() + within_s
    with Connection(bootstrap) as connection:
        while True:
            found = tuple(_end(connection, each) for each in ALL)
            is_stable = all(each.last_stable == each.high_watermark for each in found)
            if is_stable or time.monotonic() > deadline:
                return found


def _end(connection: Connection, partition: Partition) -> End:
    last_stable, high_watermark = (
        _latest(connection, partition, each)
        for each in (Isolation.READ_COMMITTED, Isolation.READ_UNCOMMITTED)
    )
    return End(partition, last_stable, high_watermark)


def _latest(connection: Connection, partition: Partition, isolation: Isolation) -> int:
    topic, index = partition
    response = connection.request(
        "list_offsets",
        7,
        replica_id=-1,
        isolation_level=int(isolation is Isolation.READ_COMMITTED),
        topics=[{"name": topic, "partitions": [{"partition_index": index, "timestamp": LATEST}]}],
    )
    answer = response.topics[0].partitions[0]
    assert answer.error_code == ErrorCode.none, answer
    return answer.offset
