"""How old the oldest unread record is: lag as a person means it.

One record is read per lagging partition, all partitions at once, within one time limit.
"""

from collections.abc import Mapping

import confluent_kafka
from confluent_kafka import KafkaError, TopicPartition

from headwater.client.connection import CONSUMING, Connection
from headwater.client.kafka_errors import translated
from headwater.clock import Clock

Partition = tuple[str, int]

_TIME_LIMIT_S = 5.0
_ONE_RECORD_EACH = {
    "group.id": "headwater-lag",
    "enable.auto.commit": False,
    # A position that was trimmed away: the oldest unread record is the first that is there.
    "auto.offset.reset": "earliest",
    "fetch.message.max.bytes": 4096,
    "queued.min.messages": 1,
    "fetch.queue.backoff.ms": 10,
    "fetch.wait.max.ms": 50,
}


def timestamps_at(
    connection: Connection, positions: Mapping[Partition, int], clock: Clock
) -> dict[Partition, int]:
    """The timestamp (ms) of the first record at or after each position.

    A partition is left out when it holds no such record, or did not answer in time.
    """
    if not positions:
        return {}
    with translated("read the oldest unread records"):
        consumer = confluent_kafka.Consumer(connection.settings(CONSUMING, _ONE_RECORD_EACH))
        try:
            return _read_one_each(consumer, positions, clock)
        finally:
            consumer.close()


def _read_one_each(
    consumer: confluent_kafka.Consumer, positions: Mapping[Partition, int], clock: Clock
) -> dict[Partition, int]:
    consumer.assign([TopicPartition(*place, offset) for place, offset in positions.items()])
    found: dict[Partition, int] = {}
    waiting = set(positions)
    deadline = clock.monotonic_s() + _TIME_LIMIT_S
    while waiting and clock.monotonic_s() < deadline:
        message = consumer.poll(0.1)
        if message is None:
            continue
        place = (message.topic() or "", message.partition() or 0)
        error = message.error()
        if error is None and place in waiting:
            found[place] = message.timestamp()[1]
        if error is None or error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
            waiting.discard(place)
            consumer.pause([TopicPartition(*place)])
    return found
