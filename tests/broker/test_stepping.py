"""Handlers that wait run without a task: begun at once, continued by what they wait for, ended once."""

import asyncio
import struct
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from broker.calls import create_topic, produce_data
from conformance.batches import batch
from conformance.raw import Connection, decode, encode
from headwater.broker.stepping import Steps
from headwater.errors import StorageFailed
from headwater.testing import Broker

PIPELINED = 3_000
AT_ONCE = 1_000
"""So many fit into one read of a socket."""


class Outcome:
    """What `Steps` told."""

    def __init__(self) -> None:
        self.results: list[object] = []
        self.errors: list[BaseException] = []
        self.has_ended = asyncio.Event()

    def of(self, awaited: Awaitable[object]) -> None:
        Steps(awaited, self._end_with(self.results), self._end_with(self.errors)).go_on()

    def _end_with(self, told: list[Any]) -> Callable[[object], None]:
        def end(outcome: object) -> None:
            told.append(outcome)
            self.has_ended.set()

        return end


def in_a_loop(use: Callable[[Outcome], Awaitable[None]]) -> None:
    async def main() -> None:
        await asyncio.wait_for(use(Outcome()), 30)

    asyncio.run(main())


def test_what_need_not_wait_has_ended_when_it_has_begun() -> None:
    async def use(outcome: Outcome) -> None:
        async def answer() -> int:
            return 7

        outcome.of(answer())
        assert outcome.results == [7]

    in_a_loop(use)


def test_it_goes_on_with_what_it_waited_for() -> None:
    async def use(outcome: Outcome) -> None:
        synced = asyncio.get_running_loop().create_future()

        async def answer() -> int:
            first: int = await synced
            await asyncio.sleep(0)
            return first + 1

        outcome.of(answer())
        assert outcome.results == []
        synced.set_result(6)
        await outcome.has_ended.wait()
        assert outcome.results == [7]

    in_a_loop(use)


@pytest.mark.parametrize("waits", [False, True])
def test_a_failure_is_told_and_nothing_else(waits: bool) -> None:
    async def use(outcome: Outcome) -> None:
        synced = asyncio.get_running_loop().create_future()

        async def fail() -> None:
            if waits:
                await synced
            raise StorageFailed("the disk is gone")

        outcome.of(fail())
        synced.set_result(None)
        await outcome.has_ended.wait()
        assert [str(each) for each in outcome.errors] == ["the disk is gone"]
        assert outcome.results == []

    in_a_loop(use)


def test_what_is_cancelled_under_it_is_told_too() -> None:
    async def use(outcome: Outcome) -> None:
        given_up = asyncio.get_running_loop().create_future()
        outcome.of(given_up)
        given_up.cancel()
        await outcome.has_ended.wait()
        assert isinstance(outcome.errors[0], asyncio.CancelledError)

    in_a_loop(use)


def test_a_callback_that_raises_is_not_taken_for_a_failure_of_the_handler() -> None:
    async def use(outcome: Outcome) -> None:
        async def answer() -> int:
            return 7

        def refuse(_: int) -> None:
            raise RuntimeError("the connection is gone")

        with pytest.raises(RuntimeError, match="the connection is gone"):
            Steps(answer(), refuse, outcome.errors.append).go_on()
        assert outcome.errors == []

    in_a_loop(use)


def blob(topic: str, count: int) -> bytes:
    """So many Metadata requests in one piece."""
    frames = b""
    for number in range(count):
        request = encode("metadata", 9, number, {"topics": [{"name": topic}]})
        frames += struct.pack(">i", len(request)) + request
    return frames


def test_thousands_of_requests_that_came_at_once_are_answered_in_their_order() -> None:
    """Each is answered before the next begins, not inside of it."""
    with Broker() as broker, Connection(broker.bootstrap) as connection:
        create_topic(broker, "orders")
        connection.send_unframed(blob("orders", PIPELINED))
        for number in range(PIPELINED):
            correlation_id, response = decode("metadata", 9, connection.receive_bytes())
            assert (correlation_id, response.topics[0].error_code) == (number, 0)


def test_a_connection_with_much_to_ask_leaves_others_their_turn() -> None:
    with (
        Broker() as broker,
        Connection(broker.bootstrap) as greedy,
        Connection(broker.bootstrap) as other,
    ):
        create_topic(broker, "orders")
        other.request("api_versions", 3)
        greedy.send_unframed(blob("orders", AT_ONCE))
        greedy.receive_bytes()
        other.request("api_versions", 3)
        assert broker.embedded.traffic.apis["Metadata"].requests < AT_ONCE


def test_nothing_behind_a_request_that_ends_its_connection_is_carried_out() -> None:
    with Broker() as broker:
        unknown = struct.pack(">hhih", 999, 0, 1, -1)
        produce = encode("produce", 9, 2, produce_data("orders", batch(b"behind")))
        pieces = [struct.pack(">i", len(each)) + each for each in (unknown, produce)]
        create_topic(broker, "orders")
        with Connection(broker.bootstrap) as connection:
            connection.send_unframed(b"".join(pieces))
            with pytest.raises((ConnectionError, EOFError)):
                connection.receive_bytes()
        topic = broker.embedded.topics.get("orders")
        assert topic is not None
        assert topic.partitions[0].log.next_offset == 0
