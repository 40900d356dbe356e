"""Transactions with confluent-kafka (librdkafka)."""

import time

import confluent_kafka
from confluent_kafka import Consumer, KafkaException

from histories.history import Partition
from histories.producers import PATIENCE_S, Offsets


class Producer:
    errors: type[Exception] = KafkaException

    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int) -> None:
        self._producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": timeout_ms,
                "linger.ms": 1,
                "retry.backoff.ms": 20,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 200,
                "log_level": 0,
            }
        )

    def start(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                return self._producer.init_transactions(PATIENCE_S)
            except KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > deadline:
                    raise

    def begin(self) -> None:
        self._producer.begin_transaction()

    def append(self, partition: Partition, value: str) -> None:
        self._producer.produce(partition[0], value, partition=partition[1])

    def send_offsets(self, consumer: Consumer, group: str, offsets: Offsets) -> None:
        del group
        self._producer.send_offsets_to_transaction(
            [confluent_kafka.TopicPartition(*place, offset) for place, offset in offsets.items()],
            consumer.consumer_group_metadata(),
            PATIENCE_S,
        )

    def commit(self) -> None:
        self._producer.commit_transaction(PATIENCE_S)

    def abort(self) -> None:
        self._producer.abort_transaction(PATIENCE_S)

    def can_abort(self, error: Exception) -> bool:
        return isinstance(error, KafkaException) and bool(error.args[0].txn_requires_abort())
