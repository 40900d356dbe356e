"""Administration: topics, groups, definitions of views; the same against Apache Kafka."""

from dataclasses import dataclass

from confluent_kafka.admin import AdminClient

from headwater.client.admin.calls import answer
from headwater.client.admin.groups import Groups
from headwater.client.admin.topics import Topics
from headwater.client.admin.views import Views
from headwater.client.connection import Connection
from headwater.client.kafka_errors import translated
from headwater.client.log_offsets import LogOffsets
from headwater.clock import Clock


@dataclass(frozen=True, slots=True)
class Node:
    id: int
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Cluster:
    id: str
    controller: int | None
    nodes: tuple[Node, ...]


class Admin:
    """`topics`, `groups` and `views` hold the verbs; `cluster()` says who answers."""

    def __init__(
        self, connection: Connection, kafka: AdminClient, log: LogOffsets, clock: Clock
    ) -> None:
        self._kafka = kafka
        self._timeout_s = connection.timeout_s
        self.topics = Topics(kafka, log, connection.timeout_s, clock)
        self.groups = Groups(connection, kafka, log, clock)
        self.views = Views(connection, self.topics)

    def cluster(self) -> Cluster:
        with translated("describe the cluster"):
            future = self._kafka.describe_cluster(request_timeout=self._timeout_s)
        found = answer(future, doing="describe the cluster")
        return Cluster(
            id=found.cluster_id or "",
            controller=found.controller.id if found.controller else None,
            nodes=tuple(Node(node.id, node.host, node.port) for node in found.nodes),
        )
