"""Where a topic ends, counting what is not committed yet.

The outcome of a transaction is decided before its end is in every partition. Who must not overlook its
records waits for all that were written, not only for those that a reader could see at that moment.
"""

from functools import cached_property

from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from headwater.client.client import Client
from headwater.client.kafka_errors import translated
from headwater.followers.changes import Positions


class LogEnds:
    def __init__(self, client: Client) -> None:
        self._client = client

    def of(self, topic: str) -> Positions:
        """Blocks; raises `NotFound` if there is no such topic."""
        partitions = [
            TopicPartition(topic, each.partition)
            for each in self._client.admin.topics.describe(topic).partitions
        ]
        doing = f"look up the end of {topic!r}"
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        with translated(doing):
            found = self._kafka.list_offsets(
                dict.fromkeys(partitions, latest),
                isolation_level=IsolationLevel.READ_UNCOMMITTED,
                request_timeout=self._client.connection.timeout_s,
            )
            return {each.partition: int(answer.result().offset) for each, answer in found.items()}

    @cached_property
    def _kafka(self) -> AdminClient:
        return AdminClient(self._client.connection.settings())
