"""Requests that change one topic at the same moment: each is done, or refused, and none is undone."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from broker.calls import create_topic, produce
from conformance.batches import batch
from conformance.raw import Connection
from headwater.broker.config_changes import SET, ConfigChange, apply_changes
from headwater.broker.config_view import TOPIC_RESOURCE
from headwater.broker.context import RequestContext
from headwater.broker.handlers.create_partitions import create_partitions
from headwater.broker.handlers.create_topics import create_topics
from headwater.broker.handlers.delete_topics import delete_topics
from headwater.testing import Broker
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from headwater.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from headwater.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

Ask = Callable[[RequestContext], Coroutine[Any, Any, ErrorCode]]


def at_once(broker: Broker, *asked: Ask) -> list[ErrorCode]:
    async def ask() -> list[ErrorCode]:
        context = RequestContext(broker.embedded, 3, "client", "127.0.0.1", 1)
        return await asyncio.gather(*(each(context) for each in asked))

    return broker.call(ask)


def grow_to(count: int) -> Ask:
    async def ask(context: RequestContext) -> ErrorCode:
        topic = CreatePartitionsTopic(name="t", count=count, assignments=None)
        request = CreatePartitionsRequest(topics=[topic], timeout_ms=1000, validate_only=False)
        return ErrorCode((await create_partitions(request, context)).results[0].error_code)

    return ask


def configure(name: str, value: str) -> Ask:
    async def ask(context: RequestContext) -> ErrorCode:
        change = ConfigChange(name, SET, value)
        code, _ = await apply_changes(context, (TOPIC_RESOURCE, "t"), [change], only_validate=False)
        return code

    return ask


async def delete(context: RequestContext) -> ErrorCode:
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=1000)
    return ErrorCode((await delete_topics(request, context)).responses[0].error_code)


def configs(broker: Broker) -> dict[str, str]:
    topic = broker.embedded.topics.get("t")
    assert topic is not None
    return dict(topic.configs)


@pytest.fixture
def broker() -> Any:
    with Broker() as started:
        create_topic(started, "t")
        yield started


def test_a_topic_that_grows_twice_never_shrinks(broker: Broker) -> None:
    codes = at_once(broker, grow_to(6), grow_to(3))

    assert codes == [ErrorCode.NONE, ErrorCode.INVALID_PARTITIONS]
    with Connection(broker.bootstrap) as connection:
        for partition in range(6):
            answer = produce(connection, "t", batch(b"%d" % partition), partition)
            assert answer.error_code == ErrorCode.NONE
    broker.restart()
    assert len(broker.topic("t")) == 6


def test_no_change_of_configs_is_lost_to_another(broker: Broker) -> None:
    codes = at_once(broker, configure("retention.ms", "-1"), configure("max.message.bytes", "5000"))

    assert codes == [ErrorCode.NONE, ErrorCode.NONE]
    assert configs(broker) == {"retention.ms": "-1", "max.message.bytes": "5000"}
    broker.restart()
    assert configs(broker) == {"retention.ms": "-1", "max.message.bytes": "5000"}


@pytest.mark.parametrize("change", [configure("max.message.bytes", "5000"), grow_to(3)])
def test_a_change_brings_no_deleted_topic_back(broker: Broker, change: Ask) -> None:
    codes = at_once(broker, delete, change)

    assert codes == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    broker.restart()
    assert broker.embedded.topics.get("t") is None


def test_of_two_deletions_only_one_is_done(broker: Broker) -> None:
    codes = at_once(broker, delete, delete)

    assert codes == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def create(name: str) -> Ask:
    async def ask(context: RequestContext) -> ErrorCode:
        topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=1000)
        return ErrorCode((await create_topics(request, context)).topics[0].error_code)

    return ask


def test_of_two_names_that_collide_only_one_is_created(broker: Broker) -> None:
    codes = at_once(broker, create("a.b"), create("a_b"))

    assert codes == [ErrorCode.NONE, ErrorCode.INVALID_TOPIC_EXCEPTION]
    assert broker.embedded.topics.get("a_b") is None
