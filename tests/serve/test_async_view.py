"""Views asked and watched by programs on asyncio."""

import asyncio
from collections.abc import Mapping
from typing import Any

import headwater
from headwater.client import AsyncSubscription
from headwater.testing import Broker, ViewServer
from rigs.async_program import begin, cancel
from rigs.changelog import Changelog, revenue
from serve.conftest import Changelogs

MINUTE = "2026-09-01T10:00Z"


def test_a_view_is_asked_while_it_is_watched(
    broker: Broker, server: ViewServer, changelog: Changelog
) -> None:
    changelog.put(revenue(1, 10.0))
    receipt = changelog.put(revenue(2, 20.0))
    changelog.wait_until_served()
    name = changelog.view.name

    async def program() -> Mapping[str, Any]:
        async with (
            headwater.AsyncClient(broker.bootstrap, views=server.url) as client,
            client.view(name).subscribe("total < 100") as changes,
        ):
            view = client.view(name)
            watched = aiter(changes)
            begun = [await anext(watched) for _ in range(2)]
            coming = asyncio.ensure_future(anext(watched))
            rows = await asyncio.gather(
                *(view.get(minute=MINUTE, customer=n, wait_for=receipt) for n in (1, 2, 3))
            )
            changelog.put(revenue(3, 30.0))
            change = await coming
            counted = await view.query(f'SELECT count(*) FROM "{name}"')
            return {
                "begun": sorted(each.row["total"] for each in begun if each.row),
                "asked": [row and row["total"] for row in rows],
                "change": (change.kind, change.row and change.row["total"], change.id),
                "last_id": changes.last_id,
                "rows": sorted([row["total"] async for row in view.rows()]),
                "counted": counted.rows,
                "lag": (await view.describe()).status.lag_records,
            }

    found = asyncio.run(program())
    assert found["begun"] == [10.0, 20.0]
    assert found["asked"] == [10.0, 20.0, None]
    assert found["change"] == ("upsert", 30.0, found["last_id"])
    assert (found["rows"], found["counted"]) == ([10.0, 20.0, 30.0], ((3,),))
    assert found["lag"] == 0


def test_a_subscription_that_waits_can_be_cancelled_and_closed(
    broker: Broker, server: ViewServer, changelog: Changelog
) -> None:
    async def program() -> None:
        async with headwater.AsyncClient(broker.bootstrap, views=server.url) as client:
            changes = client.view(changelog.view.name).subscribe()
            waiting = asyncio.ensure_future(anext(aiter(changes)))
            await asyncio.sleep(0)
            waiting.cancel()
            async with asyncio.timeout(30):
                await changes.close()
            assert waiting.cancelled() or await asyncio.wait([waiting])

    asyncio.run(program())


def test_a_key_may_have_columns_that_are_called_like_arguments(
    broker: Broker, server: ViewServer, new_changelog: Changelogs
) -> None:
    columns = {"wait_for": "bigint", "timeout_s": "bigint", "total": "double"}
    changelog = new_changelog(columns=columns)
    receipt = changelog.put({"wait_for": 7, "timeout_s": 8, "total": 1.5})

    async def program() -> Any:
        async with headwater.AsyncClient(broker.bootstrap, views=server.url) as client:
            view = client.view(changelog.view.name)
            return await view.get({"wait_for": 7, "timeout_s": 8}, wait_for=receipt, timeout_s=15)

    assert asyncio.run(program())["total"] == 1.5


async def first_total(changes: AsyncSubscription) -> Any:
    """Of a loop that is left after its first change."""
    async for change in changes:
        return change.row and change.row["total"]
    return "over"


def test_a_loop_goes_on_where_the_one_before_was_left(
    broker: Broker, server: ViewServer, changelog: Changelog
) -> None:
    changelog.put(revenue(1, 10.0))
    changelog.put(revenue(2, 20.0))
    changelog.wait_until_served()

    async def program() -> list[Any]:
        async with (
            headwater.AsyncClient(broker.bootstrap, views=server.url) as client,
            client.view(changelog.view.name).subscribe() as changes,
            asyncio.timeout(30),
        ):
            snapshot = sorted([await first_total(changes), await first_total(changes)])
            await cancel(await begin(first_total(changes)))
            changelog.put(revenue(3, 30.0))
            coming = await first_total(changes)
            await changes.close()
            return [*snapshot, coming, await first_total(changes)]

    assert asyncio.run(program()) == [10.0, 20.0, 30.0, "over"]


def test_closing_the_client_ends_its_subscriptions(
    broker: Broker, server: ViewServer, changelog: Changelog
) -> None:
    changelog.put(revenue(1, 10.0))
    changelog.wait_until_served()

    async def program() -> list[Any]:
        async with headwater.AsyncClient(broker.bootstrap, views=server.url) as client:
            changes = client.view(changelog.view.name).subscribe()
            found = [await first_total(changes)]
            waiting = await begin(first_total(changes))
            async with asyncio.timeout(10):
                await client.close()
                return [*found, await waiting]

    assert asyncio.run(program()) == [10.0, "over"]
