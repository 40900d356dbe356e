"""Requests that tests of the broker send, short to write."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from conformance.raw import Connection
from headwater.testing import Broker

LONG_MS = 60_000


def create_topic(broker: Broker, name: str, partitions: int = 1, **configs: str) -> None:
    topic = {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": 1,
        "configs": [
            {"name": key.replace("_", "."), "value": value} for key, value in configs.items()
        ],
    }
    with Connection(broker.bootstrap) as connection:
        (result,) = connection.request("create_topics", 7, topics=[topic], timeout=LONG_MS).topics
    assert result.error_code == 0, result.error_message


def set_configs(broker: Broker, name: str, configs: dict[str, str]) -> None:
    """Replace the configs of a topic."""
    topics = broker.embedded.topics
    topic = topics.get(name)
    assert topic is not None
    assert broker.call(topics.change, topic, topic.record, replace(topic.record, configs=configs))


def produce_data(topic: str, records: bytes, partition: int = 0, acks: int = -1) -> dict[str, Any]:
    """The fields of Produce version 9."""
    data = [{"name": topic, "partition_data": [{"index": partition, "records": records}]}]
    return {"acks": acks, "timeout": LONG_MS, "topic_data": data}


def produce(connection: Connection, topic: str, records: bytes, partition: int = 0) -> Any:
    answer = connection.request("produce", 9, **produce_data(topic, records, partition))
    return answer.responses[0].partition_responses[0]


def fetch_data(
    topic: str,
    offset: int = 0,
    partition: int = 0,
    *,
    max_wait: int = 0,
    max_bytes: int = 50 << 20,
    partition_max_bytes: int = 50 << 20,
) -> dict[str, Any]:
    """The fields of Fetch version 11, without a session."""
    wanted = {
        "partition": partition,
        "fetch_offset": offset,
        "partition_max_bytes": partition_max_bytes,
        "current_leader_epoch": -1,
    }
    return {
        "max_wait": max_wait,
        "min_bytes": 1,
        "max_bytes": max_bytes,
        "session_epoch": -1,
        "topics": [{"topic": topic, "partitions": [wanted]}],
    }


def fetch(connection: Connection, topic: str, offset: int = 0, **options: Any) -> Any:
    answer = connection.request("fetch", 11, **fetch_data(topic, offset, **options))
    return answer.responses[0].partitions[0]


def wait_until(broker: Broker, condition: Callable[[], bool]) -> None:
    """Let the broker's event loop run until something is so; the test's timeout is the limit."""

    async def wait() -> None:
        while not condition():  # noqa: ASYNC110 - the condition is about internals, nothing wakes us
            await asyncio.sleep(0.001)

    broker.call(wait)
