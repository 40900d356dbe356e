"""Transactions with kafka-python."""

import kafka
from confluent_kafka import Consumer
from kafka.errors import InvalidProducerEpochError, KafkaError, ProducerFencedError
from kafka.producer.future import FutureRecordMetadata

from histories.history import Partition
from histories.producers import Offsets


class Producer:
    errors: type[Exception] = KafkaError

    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int) -> None:
        self._sent: list[FutureRecordMetadata] = []
        self._producer = kafka.KafkaProducer(
            bootstrap_servers=bootstrap,
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
            retry_backoff_ms=20,
            reconnect_backoff_ms=20,
            reconnect_backoff_max_ms=200,
        )

    def start(self) -> None:
        self._producer.init_transactions()

    def begin(self) -> None:
        self._sent = []
        self._producer.begin_transaction()

    def append(self, partition: Partition, value: str) -> None:
        sent = self._producer.send(partition[0], value.encode(), partition=partition[1])
        self._sent.append(sent)

    def send_offsets(self, consumer: Consumer, group: str, offsets: Offsets) -> None:
        del consumer
        self._producer.send_offsets_to_transaction(
            {
                kafka.TopicPartition(*place): kafka.OffsetAndMetadata(offset, "", -1)
                for place, offset in offsets.items()
            },
            group,
        )

    def commit(self) -> None:
        # kafka-python may commit what is left when records could not be sent: the application has to look.
        self._producer.flush()
        for each in self._sent:
            each.get()
        self._producer.commit_transaction()

    def abort(self) -> None:
        self._producer.abort_transaction()

    def can_abort(self, error: Exception) -> bool:
        fatal = (ProducerFencedError, InvalidProducerEpochError)
        return isinstance(error, KafkaError) and not isinstance(error, fatal)
