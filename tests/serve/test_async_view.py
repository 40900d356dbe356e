"""Views asked and watched by programs on asyncio."""

import asyncio
from collections.abc import Mapping
from typing import Any

import headwater
from headwater.testing import Broker, ViewServer
from rigs.changelog import Changelog, revenue

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
