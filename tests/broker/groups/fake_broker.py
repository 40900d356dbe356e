"""A broker that has groups and a few topics, called over real bytes."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from broker.groups.fakes import HandClock, MemoryJournal, join_request, sync_request
from broker.transactions import fakes as transactions
from headwater.broker.context import RequestContext
from headwater.broker.groups.coordinator import Groups
from headwater.broker.groups.member import Client
from headwater.wire.codec import decode, encode_bytes
from headwater.wire.error_codes import ErrorCode
from headwater.wire.schema import ZERO_UUID, Message

TOPIC_IDS = {"t": b"t" * 16, "u": b"u" * 16}
UNKNOWN_ID = b"?" * 16
PARTITIONS = 3


class FakeTopics:
    def __init__(self) -> None:
        self.ids = dict(TOPIC_IDS)

    def topic_has_partition(self, topic: str, partition: int) -> bool:
        return topic in self.ids and 0 <= partition < PARTITIONS

    def topic_name_of(self, topic_id: bytes) -> str | None:
        return next((name for name, each in self.ids.items() if each == topic_id), None)

    def topic_id_of(self, topic: str) -> bytes:
        return self.ids.get(topic, ZERO_UUID)


@dataclass
class FakeNode:
    node_id: int = 7
    host: str = "broker.example"
    port: int = 9092


@dataclass
class FakeBroker:
    node: FakeNode = field(default_factory=FakeNode)
    topics: FakeTopics = field(default_factory=FakeTopics)
    clock: HandClock = field(default_factory=HandClock)
    journal: MemoryJournal = field(default_factory=MemoryJournal)

    def __post_init__(self) -> None:
        self.groups = Groups(self.clock, self.journal)
        self.transactions = transactions.Rig().transactions

    async def call(self, handler: Callable[..., Any], request: Message, version: int) -> Any:
        """Send a request as a client does: encoded in a version, answered in the same."""
        sent = decode(type(request), version, memoryview(encode_bytes(request, version)))
        context = RequestContext(
            broker=cast("Any", self), version=version, client_id="app", client_host="127.0.0.1"
        )
        response = handler(sent, context)
        if inspect.isawaitable(response):
            response = await response
        data = memoryview(encode_bytes(response, version))
        return decode(type(response), version, data)

    async def stable_member(self, group_id: str = "g", **fields: Any) -> str:
        """Make a stable group of one member in generation 1, and return its id."""
        client = Client("app", "/127.0.0.1", 3)
        joined = await self.groups.join(join_request(group_id, **fields), client)
        synced = await self.groups.sync(
            sync_request(
                joined.generation_id,
                joined.member_id,
                {joined.member_id: b"assignment"},
                group_id=group_id,
            )
        )
        assert synced.error_code == ErrorCode.NONE
        return joined.member_id
