"""Reads over the protocol: the batches of a range from whoever leads its partition."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from headwater.bulk.batches import Batches
from headwater.bulk.broker_errors import refuse
from headwater.bulk.cluster import Cluster
from headwater.bulk.connection import Connection
from headwater.bulk.ranges import Isolation, OffsetRange
from headwater.errors import Corruption, HeadwaterError, Unavailable
from headwater.wire.encoder import at_hand
from headwater.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

FETCH_VERSION: Final = 12
"""The last one that names topics; later ones need their ids."""

FETCH_BYTES: Final = 4 << 20
_WAIT_MS: Final = 500


def fetch_range(
    cluster: Cluster, wanted: OffsetRange, isolation: Isolation, fetch_bytes: int = FETCH_BYTES
) -> Iterator[Batches]:
    """Yield all batches of a range, whose end the broker must have named as reachable before.

    While the caller works on one answer, the broker prepares the next. Outlasts restarts and new leaders
    as `Cluster` does. Raises `OffsetOutOfRange` if the log begins after the range's start by now.
    """
    session = _Session(cluster, wanted, isolation, fetch_bytes)
    offset = wanted.start
    try:
        while offset < wanted.end:
            batches = cluster.patiently(partial(session.fetch, offset))
            offset = batches.next_offset
            if offset < wanted.end:
                session.ask(offset)
            yield batches
    finally:
        session.close()


class _Session:
    """At most one request under way, for the offset that will be wanted next."""

    def __init__(
        self, cluster: Cluster, wanted: OffsetRange, isolation: Isolation, fetch_bytes: int
    ) -> None:
        self._cluster = cluster
        self._wanted = wanted
        self._isolation = isolation
        self._fetch_bytes = fetch_bytes
        self._asked: tuple[Connection, int, int] | None = None

    def close(self) -> None:
        """Leave no answer behind that the next reader of the connection would take for its own."""
        if self._asked is not None:
            self._cluster.close()

    def ask(self, offset: int) -> None:
        """Send the request for `offset`; a failure shows when its answer is fetched."""
        try:
            connection = self._cluster.leader(self._wanted.topic_partition)
            correlation_id = connection.send(self._request(offset), FETCH_VERSION)
        except HeadwaterError:
            self._asked = None
        else:
            self._asked = (connection, correlation_id, offset)

    def fetch(self, offset: int) -> Batches:
        """Return at least one batch that reaches to `offset`."""
        if self._asked is None:
            connection = self._cluster.leader(self._wanted.topic_partition)
            correlation_id = connection.send(self._request(offset), FETCH_VERSION)
        else:
            connection, correlation_id, asked_offset = self._asked
            self._asked = None
            assert asked_offset == offset, "answers come in the order of requests"
        answer = connection.receive(correlation_id, FETCH_VERSION, FetchResponse)
        doing = f"read {self._wanted.topic_partition} at offset {offset}"
        refuse(answer.error_code, doing=doing)
        data = _only_partition(answer)
        refuse(data.error_code, doing=doing)
        batches = Batches.of(
            memoryview(at_hand(data.records or b"")), data.aborted_transactions or ()
        )
        if not len(batches):
            raise _nothing_there(doing, data)
        return batches

    def _request(self, offset: int) -> FetchRequest:
        partition = FetchPartition(
            partition=self._wanted.partition,
            fetch_offset=offset,
            partition_max_bytes=self._fetch_bytes,
        )
        return FetchRequest(
            max_wait_ms=_WAIT_MS,
            min_bytes=1,
            max_bytes=self._fetch_bytes,
            isolation_level=self._isolation,
            topics=[FetchTopic(topic=self._wanted.topic, partitions=[partition])],
        )


def _only_partition(answer: FetchResponse) -> PartitionData:
    for topic in answer.responses:
        for partition in topic.partitions:
            return partition
    raise Unavailable("the broker answered without the partition that was asked for", "try again")


def _nothing_there(doing: str, data: PartitionData) -> HeadwaterError:
    if data.records:
        return Corruption(f"cannot {doing}: what the broker sent is no record batch")
    return Unavailable(
        f"cannot {doing}: the broker has nothing there, its log can be read up to "
        f"{data.last_stable_offset}",
        hint="was its disk put back to an older state?",
    )
