"""One face for the transactional producers of four client libraries, a module for each.

confluent-kafka, kafka-python and aiokafka speak the first version of Kafka's transactions; the Java client
speaks the second (an epoch per transaction, partitions added implicitly).
"""

import importlib
from collections.abc import Mapping
from typing import Final, Protocol, cast

from confluent_kafka import Consumer

from histories.history import Partition

PATIENCE_S: Final = 30
Offsets = Mapping[Partition, int]


class TransactionalProducer(Protocol):
    """What goes wrong is raised as the library's own `errors`."""

    errors: type[Exception] | tuple[type[Exception], ...]

    def start(self) -> None:
        """Become the only producer of this transactional id, and end what an earlier one left open."""

    def begin(self) -> None: ...

    def append(self, partition: Partition, value: str) -> None: ...

    def send_offsets(self, consumer: Consumer, group: str, offsets: Offsets) -> None: ...

    def commit(self) -> None: ...

    def abort(self) -> None: ...

    def can_abort(self, error: Exception) -> bool:
        """Whether the transaction can be aborted after this error and the producer used again."""


def new_producer(
    library: str, bootstrap: str, transactional_id: str, timeout_ms: int
) -> TransactionalProducer:
    """A producer whose transactions the broker aborts after `timeout_ms`."""
    module = importlib.import_module(f"histories.producers.{library}")
    return cast("TransactionalProducer", module.Producer(bootstrap, transactional_id, timeout_ms))
