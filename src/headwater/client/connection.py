"""What every librdkafka client of one connection shares: the address, the options, the time limit.

The settings that differ from librdkafka's own defaults are all on this page, with the reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headwater.client.address import Address

Options = Mapping[str, Any]
"""Any of librdkafka's configuration properties, for example `{"security.protocol": "SASL_SSL"}`."""


@dataclass(frozen=True, slots=True)
class Connection:
    address: Address
    timeout_s: float = 10.0
    """How long a call may wait for the broker before it raises Unavailable."""
    options: Options = field(default_factory=dict)

    def settings(self, *defaults: Options) -> dict[str, Any]:
        """Configuration for one librdkafka client; later mappings win, the user's options last."""
        merged: dict[str, Any] = dict(_SHARED)
        for mapping in defaults:
            merged.update(mapping)
        merged["bootstrap.servers"] = self.address.bootstrap
        merged.update(self.options)
        return merged


_SHARED: Options = {
    "client.id": "headwater",
    # Errors are raised; librdkafka's own log lines on stderr would only repeat them.
    "log_level": 0,
    # A restarted broker is found again within a second, not after ten.
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 1000,
    # Nothing here ever reads the metrics that KIP-714 would push.
    "enable.metrics.push": False,
}

PRODUCING: Options = {
    "acks": "all",
    "enable.idempotence": True,
    # Java's partitioner, so that a key lands in the same partition whoever sends it.
    "partitioner": "murmur2_random",
    # The topic says how large a record may be, not the client. This much passes the default limits of
    # brokers (socket.request.max.bytes) and consumers (receive.message.max.bytes). Batches of smaller
    # records are not larger for it: batch.size holds them to a megabyte.
    "message.max.bytes": 99_000_000,
}

CONSUMING: Options = {
    # librdkafka waits with joining for an answer about topics, and if that was lost with its broker, until
    # it asks the next time: that must not be five minutes.
    "topic.metadata.refresh.interval.ms": 10_000,
    # A position that is not in the log any more is an error, never a silent jump.
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    # Only positions of finished records are stored; librdkafka commits those in the background.
    "enable.auto.offset.store": False,
    "auto.commit.interval.ms": 1000,
    "partition.assignment.strategy": "cooperative-sticky",
    # A member learns from its heartbeat that another one came or left.
    "heartbeat.interval.ms": 1000,
    # A reader of a new topic must not create it by a typo.
    "allow.auto.create.topics": False,
    # The first fetch after an idle time answers at once.
    "fetch.wait.max.ms": 500,
    # Back-pressure: how much is fetched ahead of the program, per consumer.
    "queued.max.messages.kbytes": 65536,
    # librdkafka looks again only after a second whether the program has taken some of it.
    "fetch.queue.backoff.ms": 5,
}
