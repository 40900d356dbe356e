"""Events for the benchmarks of Spark, the same in every run: orders of about 1 KiB, clicks of 100 B."""

import json
import random
from collections.abc import Iterator
from functools import partial
from typing import Final

KEYS: Final = 10_000
DISTINCT: Final = 20_000
"""Orders that differ in more than their id; a longer topic has them again."""

SCHEMA: Final = (
    "id BIGINT, customer BIGINT, at TIMESTAMP, status STRING, total DOUBLE, paid BOOLEAN, "
    "items ARRAY<STRUCT<sku: STRING, count: INT, price: DOUBLE>>, "
    "address STRUCT<street: STRING, zip: STRING, city: STRING, country: STRING>, "
    "channel STRING, coupon STRING, agent STRING, note STRING"
)
FEW_COLUMNS: Final = "id BIGINT, customer BIGINT, at TIMESTAMP, status STRING, total DOUBLE"
"""What a pipeline typically needs of such an event."""

CLICK_COLUMNS: Final = "id BIGINT, customer BIGINT, at TIMESTAMP, page STRING, price DOUBLE"

_NOTE: Final = (
    "please leave the parcel with the neighbours on the second floor if nobody opens the door and "
    "ring twice since the bell is rather quiet in the afternoon thank you very much indeed"
)
_WORDS: Final = tuple(_NOTE.split())


def orders(count: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield (key, value) of so many orders."""
    tails = _tails()
    for number in range(count):
        key = b"%d" % (number * 7919 % KEYS)
        yield key, b'{"id":%d,"customer":%s,%s' % (number, key, tails[number % DISTINCT])


def clicks(count: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield (key, value) of so many clicks."""
    for number in range(count):
        customer, second = number * 7919 % KEYS, number // 100 % 60
        yield (
            b"%d" % customer,
            b'{"id":%d,"customer":%d,"at":"2026-09-01T10:00:%02d.%03dZ","page":"/p/%d","price":%d.5}'
            % (number, customer, second, number % 1000, number % 9000, number % 90),
        )


def _tails() -> list[bytes]:
    """What comes after id and customer."""
    chosen = random.Random(1)
    encode = partial(json.dumps, separators=(",", ":"), ensure_ascii=False)
    return [encode(_order(chosen)).encode()[1:] for _ in range(DISTINCT)]


def _order(chosen: random.Random) -> dict[str, object]:
    items = [
        {
            "sku": f"SKU-{chosen.randrange(100_000):05d}",
            "count": chosen.randrange(1, 9),
            "price": chosen.randrange(100, 20_000) / 100,
        }
        for _ in range(5)
    ]
    hour, minute, fraction = (chosen.randrange(below) for below in (24, 60, 10**6))
    return {
        "at": f"2026-09-01T{hour:02d}:{minute:02d}:00.{fraction:06d}Z",
        "status": chosen.choice(("new", "paid", "shipped", "returned")),
        "total": chosen.randrange(100, 100_000) / 100,
        "paid": chosen.random() < 0.5,
        "items": items,
        "address": {
            "street": f"{' '.join(chosen.choices(_WORDS, k=2))} {chosen.randrange(1, 200)}",
            "zip": f"{chosen.randrange(100_000):05d}",
            "city": chosen.choice(("Zürich", "Malmö", "Porto", "Gdańsk", "Lyon")),
            "country": chosen.choice(("CH", "SE", "PT", "PL", "FR")),
        },
        "channel": chosen.choice(("web", "app", "shop")),
        "coupon": None if chosen.random() < 0.8 else f"SAVE{chosen.randrange(100)}",
        "agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0",
        "note": " ".join(chosen.choices(_WORDS, k=85)),
    }
