"""The brokers behind an address: which topics there are, who leads them, where they begin and end."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self, TypeVar

from headwater.bulk.broker_errors import refuse
from headwater.bulk.connection import Connection
from headwater.bulk.ranges import Isolation, TopicPartition
from headwater.bulk.security import Security
from headwater.errors import NotFound, OffsetOutOfRange, Unavailable
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from headwater.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from headwater.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)

T = TypeVar("T")

EARLIEST: Final = -2
LATEST: Final = -1
NO_OFFSET: Final = -1
"""What a look-up by time answers when nothing is that young."""

METADATA_VERSION: Final = 12
LIST_OFFSETS_VERSION: Final = 7
DESCRIBE_LOG_DIRS_VERSION: Final = 2

_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 1.0
_UNKNOWN_FOR_S: Final = 5.0
"""How long a partition may be unknown: a new one is not known to every broker at once."""


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    topic_id: bytes
    partitions: tuple[int, ...]
    is_internal: bool


class Cluster:
    """Connections to the brokers of one cluster, made when needed.

    Calls outlast a restart or a new leader for up to `timeout_s`, then raise `Unavailable`.
    """

    def __init__(
        self,
        endpoints: Sequence[tuple[str, int]],
        security: Security | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        self._endpoints = endpoints
        self._security = security or Security()
        self._timeout_s = timeout_s
        self._connections: dict[tuple[str, int], Connection] = {}
        self._leaders: dict[TopicPartition, tuple[str, int]] = {}
        self.coordinators: dict[tuple[int, str], tuple[str, int]] = {}
        """Who keeps what, as far as it is known (`coordinators.py`)."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections and forget who leads what; the next call begins anew."""
        for each in self._connections.values():
            each.close()
        self._connections.clear()
        self._leaders.clear()
        self.coordinators.clear()

    def topics(self, names: Iterable[str] | None = None) -> dict[str, Topic]:
        """Return the topics that exist, all of them or those of `names`; none is created by asking."""
        asked = None if names is None else sorted(set(names))
        return self.patiently(lambda: self._topics(asked))

    def partition_count(self, topic: str) -> int:
        """Return how many partitions a topic has; it is created if the broker does that for writers."""
        return self.patiently(lambda: self._partition_count(topic))

    def offsets(
        self,
        wanted: Mapping[TopicPartition, int],
        isolation: Isolation = Isolation.READ_COMMITTED,
    ) -> dict[TopicPartition, int]:
        """Return each partition's `EARLIEST` or `LATEST` offset, or the first at a time in ms or later.

        The latest offset is one that a reader of this isolation can reach. A time after the last record
        gives `NO_OFFSET`. Raises `NotFound` for a partition that does not exist.
        """
        return self.patiently(lambda: self._offsets(wanted, isolation))

    def data_directory(self) -> str | None:
        """Return where the broker says that its data is; None if it does not say, or is not alone."""
        return self.patiently(self._data_directory)

    def leader(self, partition: TopicPartition) -> Connection:
        """Return a connection to the broker that answers for a partition."""
        if partition not in self._leaders and partition.topic not in self._topics(
            [partition.topic]
        ):
            raise _no_topic(partition.topic)
        if partition not in self._leaders:
            raise NotFound(
                f"partition {partition} does not exist", hint="see: headwater topic describe"
            )
        return self.connection(self._leaders[partition])

    def patiently(self, attempt: Callable[[], T]) -> T:
        """Try again, with new connections and metadata, while brokers restart or leaders change."""
        began = time.monotonic()
        pause = _FIRST_PAUSE_S
        while True:
            try:
                return attempt()
            except OffsetOutOfRange:
                raise
            except (Unavailable, NotFound) as error:
                self.close()
                limit_s = self._timeout_s if error.retriable else _UNKNOWN_FOR_S
                if time.monotonic() - began + pause > min(limit_s, self._timeout_s):
                    raise
            time.sleep(pause)
            pause = min(_LONGEST_PAUSE_S, pause * 2)

    def _partition_count(self, topic: str) -> int:
        found = self._topics([topic], doing=f"write to {topic!r}", creates=True)
        if topic not in found:
            raise _no_topic(topic)
        return len(found[topic].partitions)

    def _topics(
        self, names: Sequence[str] | None, *, doing: str = "", creates: bool = False
    ) -> dict[str, Topic]:
        request = MetadataRequest(
            topics=None if names is None else [MetadataRequestTopic(name=each) for each in names],
            allow_auto_topic_creation=creates,
        )
        answer = self.any_broker().call(request, METADATA_VERSION, MetadataResponse)
        nodes = {each.node_id: (each.host, each.port) for each in answer.brokers}
        found = {}
        for topic in answer.topics:
            if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                continue
            name = topic.name or ""
            refuse(topic.error_code, doing=doing or f"find topic {name}")
            for each in topic.partitions:
                if each.leader_id in nodes:
                    self._leaders[TopicPartition(name, each.partition_index)] = nodes[
                        each.leader_id
                    ]
            partitions = tuple(sorted(each.partition_index for each in topic.partitions))
            found[name] = Topic(name, topic.topic_id, partitions, topic.is_internal)
        return found

    def _offsets(
        self, wanted: Mapping[TopicPartition, int], isolation: Isolation
    ) -> dict[TopicPartition, int]:
        unknown = {each.topic for each in wanted if each not in self._leaders}
        if unknown:
            self._topics(sorted(unknown))
        by_leader: dict[Connection, dict[TopicPartition, int]] = {}
        for partition, timestamp in wanted.items():
            by_leader.setdefault(self.leader(partition), {})[partition] = timestamp
        found = {}
        for connection, asked in by_leader.items():
            request = _list_offsets(asked, isolation)
            answer = connection.call(request, LIST_OFFSETS_VERSION, ListOffsetsResponse)
            for topic in answer.topics:
                for each in topic.partitions:
                    partition = TopicPartition(topic.name, each.partition_index)
                    refuse(each.error_code, doing=f"find the offsets of {partition}")
                    found[partition] = each.offset
        return found

    def _data_directory(self) -> str | None:
        answer = self.any_broker().call(
            DescribeLogDirsRequest(topics=()), DESCRIBE_LOG_DIRS_VERSION, DescribeLogDirsResponse
        )
        directories = [each.log_dir for each in answer.results if not each.error_code]
        return directories[0] if len(directories) == 1 else None

    def any_broker(self) -> Connection:
        """Return a connection to the first broker of the address that answers."""
        failure: Unavailable | None = None
        for endpoint in self._endpoints:
            try:
                return self.connection(endpoint)
            except Unavailable as error:
                failure = error
        assert failure is not None, "an address has at least one endpoint"
        raise failure

    def connection(self, endpoint: tuple[str, int]) -> Connection:
        """Return the connection to one broker, made now if there is none."""
        if endpoint not in self._connections:
            self._connections[endpoint] = Connection(*endpoint, self._security, self._timeout_s)
        return self._connections[endpoint]


def _list_offsets(wanted: Mapping[TopicPartition, int], isolation: Isolation) -> ListOffsetsRequest:
    by_topic: dict[str, list[ListOffsetsPartition]] = {}
    for partition, timestamp in wanted.items():
        by_topic.setdefault(partition.topic, []).append(
            ListOffsetsPartition(partition_index=partition.partition, timestamp=timestamp)
        )
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation,
        topics=[ListOffsetsTopic(name=name, partitions=each) for name, each in by_topic.items()],
    )


def _no_topic(topic: str) -> NotFound:
    return NotFound(f"topic {topic!r} does not exist", hint="see: headwater topic list")
