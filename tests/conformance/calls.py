"""The requests that most scenarios need, with their everyday fields filled in."""

import time
from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

from conformance.batches import Batch, decode
from conformance.raw import Connection, ErrorCode

T = TypeVar("T")


def eventually(condition: Callable[[], T], within_s: float = 30) -> T:
    """The first true result of `condition`, asked again until then: some changes apply late."""
    deadline = time.monotonic() + within_s
    while not (result := condition()):
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.005)
    return result


def create_topic(
    connection: Connection,
    name: str,
    partitions: int = 1,
    configs: dict[str, str] | None = None,
) -> None:
    """Create a topic and wait until each of its partitions can be used."""
    response = connection.request(
        "create_topics",
        7,
        topics=[topic_to_create(name, partitions, configs=configs)],
        timeout=10_000,
    )
    assert response.topics[0].error_code == ErrorCode.none, response
    await_topic(connection, name, partitions)


def topic_to_create(
    name: str,
    partitions: int = 1,
    replication_factor: int = 1,
    configs: dict[str, str] | None = None,
) -> dict[str, Any]:
    return {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": replication_factor,
        "configs": [{"name": key, "value": value} for key, value in (configs or {}).items()],
    }


def await_topic(connection: Connection, name: str, partitions: int) -> None:
    """Kafka answers CreateTopics before its broker has opened the partitions."""

    def is_open() -> bool:
        response = connection.request(
            "list_offsets",
            7,
            replica_id=-1,
            topics=[
                {
                    "name": name,
                    "partitions": [
                        {"partition_index": index, "timestamp": -1} for index in range(partitions)
                    ],
                }
            ],
        )
        answers = response.topics[0].partitions
        return all(answer.error_code == ErrorCode.none for answer in answers)

    eventually(is_open)


def topic_metadata(connection: Connection, name: str) -> Any:
    response = connection.request(
        "metadata", 12, topics=[{"name": name}], allow_auto_topic_creation=False
    )
    return response.topics[0]


def topic_id(connection: Connection, name: str) -> UUID:
    return topic_metadata(connection, name).topic_id


def produce(
    connection: Connection,
    topic: str,
    records: bytes,
    *,
    partition: int = 0,
    acks: int = -1,
    version: int = 9,
) -> Any:
    """Append to one partition and return what the broker says about that partition."""
    response = connection.request(
        "produce", version, **produce_fields(topic, records, partition, acks)
    )
    return response.responses[0].partition_responses[0]


def produce_fields(
    topic: str, records: bytes | None, partition: int = 0, acks: int = -1
) -> dict[str, Any]:
    return {
        "acks": acks,
        "timeout": 10_000,
        "topic_data": [
            {"name": topic, "partition_data": [{"index": partition, "records": records}]}
        ],
    }


def append(connection: Connection, topic: str, *batches: bytes, partition: int = 0) -> int:
    """Append batches, one request each, and return the offset of the first."""
    offsets = []
    for records in batches:
        answer = produce(connection, topic, records, partition=partition)
        assert answer.error_code == ErrorCode.none, answer
        offsets.append(answer.base_offset)
    return offsets[0]


def fetch(
    connection: Connection, topic: str, offset: int, partition: int = 0, **fields: Any
) -> Any:
    """Fetch from one partition, at once, and return the answer for that partition."""
    response = connection.request(
        "fetch", 12, **fetch_fields(partition_to_fetch(topic, offset, partition), **fields)
    )
    assert response.error_code == ErrorCode.none, response
    return response.responses[0].partitions[0]


def read_all(connection: Connection, topic: str, offset: int = 0) -> list[Batch]:
    """Every batch from `offset` to the high watermark; one fetch may end where a segment ends."""
    batches: list[Batch] = []
    while True:
        answer = fetch(connection, topic, offset)
        assert answer.error_code == ErrorCode.none, answer
        if offset >= answer.high_watermark:
            return batches
        batches += decode(answer.records)
        offset = batches[-1].last_offset + 1


def fetch_fields(*topics: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"max_wait": 0, "min_bytes": 0, "topics": topics, **fields}


def partition_to_fetch(
    topic: str, offset: int, partition: int = 0, max_bytes: int = 1 << 20
) -> dict[str, Any]:
    return {
        "topic": topic,
        "partitions": [
            {"partition": partition, "fetch_offset": offset, "partition_max_bytes": max_bytes}
        ],
    }


def list_offset(
    connection: Connection, topic: str, timestamp: int, partition: int = 0, version: int = 7
) -> Any:
    response = connection.request(
        "list_offsets",
        version,
        replica_id=-1,
        topics=[
            {
                "name": topic,
                "partitions": [{"partition_index": partition, "timestamp": timestamp}],
            }
        ],
    )
    return response.topics[0].partitions[0]


def new_producer_id(connection: Connection) -> int:
    """An identity for an idempotent producer; Kafka's first one waits for a block of ids."""

    def ask() -> Any:
        response = connection.request(
            "init_producer_id", 4, transactional_id=None, transaction_timeout=60_000
        )
        return response if response.error_code == ErrorCode.none else None

    return eventually(ask).producer_id
