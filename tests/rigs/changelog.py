"""A view's changelog in a test: write rows to it, and say what a table made of it must hold."""

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from headwater.client import Client, Receipt
from headwater.client.producer import Delivery
from headwater.views import Column, View, decode_key, encode_key, parse_type
from headwater.views.rows import decode_row, encode_row

REVENUE = {
    "minute": "timestamp",
    "customer": "bigint",
    "orders": "bigint",
    "total": "double",
    "paid": "boolean",
    "name": "string",
}


def make_view(name: str, columns: Mapping[str, str] | None = None, **options: Any) -> View:
    """A view over a topic of the same name; its key is the first two columns, or what `key` says."""
    chosen = columns or REVENUE
    return View(
        name=name,
        topic=options.pop("topic", name),
        key=options.pop("key", tuple(chosen)[:2]),
        columns=tuple(Column(each, parse_type(of)) for each, of in chosen.items()),
        **options,
    )


def revenue(customer: int, total: float = 1.0, *, minute: int = 0, **others: Any) -> dict[str, Any]:
    row = {"minute": f"2026-09-01T10:{minute:02d}Z", "customer": customer, "total": total}
    return {"orders": None, "paid": None, "name": None, **row, **others}


class Changelog:
    """Writes changes of one view; made by the fixture `changelog`."""

    def __init__(self, client: Client, view: View) -> None:
        self.client = client
        self.view = view
        # In order even without idempotence, which takes half a second to start.
        plain = {"enable.idempotence": False, "max.in.flight": 1}
        self._producer = client.producer(value_format="bytes", linger_ms=0, options=plain)
        self._deliveries: list[Delivery] = []

    def put(self, row: Mapping[str, Any]) -> Receipt:
        return self.start_put(row).result()

    def start_put(self, row: Mapping[str, Any]) -> Delivery:
        key = encode_key(self.view, {name: row[name] for name in self.view.key})
        return self.write(key, encode_row(self.view, row))

    def delete(self, **key: Any) -> Receipt:
        return self.write(encode_key(self.view, key), None).result()

    def write(self, key: bytes | None, value: bytes | None, **options: Any) -> Delivery:
        """Whatever bytes a producer may write."""
        delivery = self._producer.send(self.view.topic, value, key=key, **options)
        self._deliveries.append(delivery)
        return delivery

    def flush(self) -> None:
        self._producer.flush()

    def wait_until_served(self) -> None:
        """Wait until the view has everything that was written here, in all partitions."""
        receipts = [each.result() for each in self._deliveries]
        newest = {each.partition: each for each in sorted(receipts, key=lambda each: each.offset)}
        for each in newest.values():
            list(self.client.view(self.view.name).rows(limit=1, wait_for=each, timeout_s=15))

    def wait_until_built(self) -> None:
        """Wait until a server that has just started has the view."""
        name = self.view.name
        while name not in [each.name for each in self.client.views.list() if each.as_of]:
            pass

    def records(self) -> Iterator[tuple[bytes, bytes | None, int, int]]:
        """Everything that a read_committed reader finds in the topic now."""
        with self.client.consumer(self.view.topic, until="end", value_format="bytes") as records:
            for each in records:
                assert each.key_bytes is not None
                yield each.key_bytes, each.raw_value, each.partition, each.offset

    def table(self) -> list[dict[str, Any]]:
        """The rows that the topic stands for, in the order of the key."""
        rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        for key, value, _, _ in self.records():
            at = tuple(decode_key(self.view, key).values())
            if value is None:
                rows.pop(at, None)
            else:
                rows[at] = decode_row(self.view, value)
        return [rows[at] for at in sorted(rows)]


def new_name(prefix: str = "v") -> str:
    return f"{prefix}-{uuid.uuid4().hex[:10]}"
