"""Transactions with aiokafka, on an event loop of its own."""

import asyncio

import aiokafka
from aiokafka.errors import IllegalOperation, InvalidProducerEpoch, KafkaError, ProducerFenced
from aiokafka.structs import RecordMetadata
from confluent_kafka import Consumer

from histories.history import Partition
from histories.producers import Offsets


class Producer:
    # The second, which is no KafkaError: a transaction that its sender gave up in the background.
    errors = (KafkaError, IllegalOperation)

    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._sent: list[asyncio.Future[RecordMetadata]] = []
        self._settings = {
            "bootstrap_servers": bootstrap,
            "transactional_id": transactional_id,
            "transaction_timeout_ms": timeout_ms,
            "retry_backoff_ms": 20,
        }

    def start(self) -> None:
        self._loop.run_until_complete(self._start())

    async def _start(self) -> None:
        self._producer = aiokafka.AIOKafkaProducer(**self._settings)
        await self._producer.start()

    def begin(self) -> None:
        self._sent = []
        self._loop.run_until_complete(self._producer.begin_transaction())

    def append(self, partition: Partition, value: str) -> None:
        sent = self._producer.send(partition[0], value.encode(), partition=partition[1])
        self._sent.append(self._loop.run_until_complete(sent))

    def send_offsets(self, consumer: Consumer, group: str, offsets: Offsets) -> None:
        del consumer
        places = {aiokafka.TopicPartition(*place): offset for place, offset in offsets.items()}
        self._loop.run_until_complete(self._producer.send_offsets_to_transaction(places, group))

    def commit(self) -> None:
        # aiokafka commits what is left when records could not be sent: the application has to look.
        self._loop.run_until_complete(asyncio.wait(self._sent))
        for each in self._sent:
            each.result()
        self._loop.run_until_complete(self._producer.commit_transaction())

    def abort(self) -> None:
        self._loop.run_until_complete(self._producer.abort_transaction())

    def can_abort(self, error: Exception) -> bool:
        fatal = (ProducerFenced, InvalidProducerEpoch)
        return isinstance(error, KafkaError) and not isinstance(error, fatal)
