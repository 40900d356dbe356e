"""Events of an online shop: the same ones on every run, whoever asks."""

import random
from collections.abc import Iterator
from typing import Any

PRODUCTS = ("tea", "coffee", "cocoa", "mate", "rooibos", "espresso", "matcha", "chai")
CITIES = ("Basel", "Bergen", "Bologna", "Bordeaux", "Brno", "Bruges")


def shop_events(producer: int, count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (key, event): orders, searches and clicks of this producer's customers."""
    chance = random.Random(producer)  # noqa: S311 - a reproducible shop, not a secret
    for number in range(count):
        customer = chance.randrange(10_000)
        event: dict[str, Any] = {"id": f"{producer}-{number}", "customer": customer}
        roll = chance.random()
        if roll < 0.2:
            event |= {
                "kind": "order",
                "product": chance.choice(PRODUCTS),
                "quantity": chance.randrange(1, 5),
                "total": round(chance.uniform(2, 80), 2),
                "city": chance.choice(CITIES),
            }
        elif roll < 0.5:
            event |= {"kind": "search", "words": chance.sample(PRODUCTS, 2)}
        else:
            event |= {"kind": "click", "product": chance.choice(PRODUCTS)}
        yield str(customer), event
