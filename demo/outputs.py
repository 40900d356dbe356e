"""What came out, as rows in JSON: views over HTTP, tables and dead letters from their topics."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from headwater.client import Client, Receipt, Views
from headwater.templates.shop.feed import TOPICS

VIEWS: Final = ("revenue", "top_sellers", "click_through")
TABLES: Final = ("sales", "sales.quarantine", "receipts", "clicked")


def view_rows(client: Client, views: Views, name: str) -> Iterator[str]:
    """All rows of a view, once it has everything that is in its changelog."""
    view = views.view(f"shop.{name}")
    topic = view.definition.topic
    for each in client.admin.topics.describe(topic).partitions:
        if each.end_offset > 0:
            last = Receipt(topic, each.partition, each.end_offset - 1, 0)
            next(view.rows(limit=1, wait_for=last, timeout_s=60), None)
    for row in view.rows():
        yield json.dumps(row, default=_text)


def table_rows(client: Client, name: str) -> Iterator[str]:
    with client.consumer(f"shop.{name}", until="end", value_format="str") as records:
        for record in records:
            yield str(record.value)


def dead_letters(client: Client) -> Iterator[str]:
    """Each letter once: who reads a topic, or repeats a batch, writes its letters again."""
    letters: dict[tuple[Any, ...], str] = {}
    there = client.admin.topics.names()
    for topic in TOPICS:
        if f"{topic}.dead" not in there:
            continue
        with client.consumer(f"{topic}.dead", until="end", value_format="str") as records:
            for record in records:
                place = tuple(
                    record.header(f"headwater.{each}") for each in ("topic", "partition", "offset")
                )
                letters[place] = json.dumps({"topic": topic, "value": record.value})
    yield from letters.values()


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
