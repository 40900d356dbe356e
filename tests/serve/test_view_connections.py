"""What a program on asyncio that asks views holds open, and what a question that nobody awaits holds up."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

import headwater
from headwater.testing import Broker, ViewServer
from rigs.async_program import begin, cancel
from rigs.changelog import Changelog, revenue
from rigs.view_proxy import ViewProxy, running_proxy

MINUTE = "2026-09-01T10:00Z"
AT_ONCE_S = 5
LATER_S = 15


@pytest.fixture
def proxy(server: ViewServer) -> Iterator[ViewProxy]:
    with running_proxy(server.url) as running:
        yield running


def test_all_views_of_a_client_share_its_connections(
    broker: Broker, proxy: ViewProxy, changelog: Changelog
) -> None:
    async def program() -> None:
        async with headwater.AsyncClient(broker.bootstrap, views=proxy.url) as client:
            for _ in range(10):
                await client.view(changelog.view.name).get(minute=MINUTE, customer=1)

    asyncio.run(program())
    assert proxy.accepted == 1
    assert proxy.wait_until(lambda seen: seen.open == 0)


def test_a_closed_subscription_holds_no_connection(
    broker: Broker, proxy: ViewProxy, changelog: Changelog
) -> None:
    changelog.put(revenue(1))
    changelog.wait_until_served()

    async def program() -> None:
        async with headwater.AsyncClient(broker.bootstrap, views=proxy.url) as client:
            view = client.view(changelog.view.name)
            await view.describe()
            for _ in range(5):
                async with view.subscribe() as changes:
                    async for _ in changes:
                        break
            # Sooner than the server gives up a connection that is idle.
            assert await asyncio.to_thread(proxy.wait_until, lambda seen: seen.open == 1, 3)
            changes = view.subscribe()  # closed with the client
            async for _ in changes:
                break

    asyncio.run(program())
    assert proxy.wait_until(lambda seen: seen.open == 0)


def test_a_cancelled_question_holds_up_neither_the_next_one_nor_closing(
    broker: Broker, proxy: ViewProxy, changelog: Changelog
) -> None:
    receipt = changelog.put(revenue(1))
    changelog.wait_until_served()
    not_there_yet = replace(receipt, offset=receipt.offset + 1)

    async def program() -> None:
        async with headwater.AsyncClient(broker.bootstrap, views=proxy.url) as client:
            view = client.view(changelog.view.name)
            asking = await begin(
                view.get(minute=MINUTE, customer=1, wait_for=not_there_yet, timeout_s=LATER_S)
            )
            assert await asyncio.to_thread(proxy.wait_until, lambda seen: b"wait_for" in seen.asked)
            await cancel(asking)
            begun_s = time.monotonic()
            assert await view.get(minute=MINUTE, customer=1)
            await client.close()
            assert time.monotonic() - begun_s < AT_ONCE_S
        changelog.put(revenue(1))  # what the thread of the cancelled one waits for

    asyncio.run(program())
    assert proxy.wait_until(lambda seen: seen.open == 0)
