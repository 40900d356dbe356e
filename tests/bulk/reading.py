"""Write to a topic, and read a range of it in bulk."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient

from headwater.bulk.cluster import EARLIEST, LATEST, Cluster
from headwater.bulk.ranges import Isolation, OffsetRange, TopicPartition
from headwater.bulk.reader import BulkReader


def produce(bootstrap: str, topic: str, records: Iterable[dict[str, Any]], **options: Any) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0, **options})
    for each in records:
        producer.produce(topic, **{"partition": 0, **each})
    assert producer.flush(60) == 0


def delete_before(bootstrap: str, topic: str, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    deleted = admin.delete_records([Place(topic, 0, offset)])
    assert all(each.result().low_watermark == offset for each in deleted.values())


def delete_topic(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.delete_topics([topic])[topic].result()


def whole(
    cluster: Cluster,
    topic: str,
    partition: int = 0,
    isolation: Isolation = Isolation.READ_COMMITTED,
) -> OffsetRange:
    at = TopicPartition(topic, partition)
    start = cluster.offsets({at: EARLIEST})[at]
    end = cluster.offsets({at: LATEST}, isolation)[at]
    return OffsetRange(topic, partition, start, end)


def read_all(reader: BulkReader, wanted: OffsetRange) -> list[dict[str, Any]]:
    batches = list(reader.read(wanted))
    return pa.Table.from_batches(batches).to_pylist() if batches else []


def values(reader: BulkReader, wanted: OffsetRange) -> list[bytes | None]:
    return [each["value"] for each in read_all(reader, wanted)]
