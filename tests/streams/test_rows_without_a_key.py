"""A row of a view whose key has no value cannot be served; it is set aside and counted."""

from headwater.testing import ViewServer
from streams.shop import Shop, per_customer


def test_a_row_without_a_key_is_set_aside_with_the_reason_and_counted(shop: Shop) -> None:
    shop.pipeline.materialized_view(key="customer", name="totals")(per_customer)
    shop.order((1, 1, 10.0))
    shop.client.send(shop.orders_topic, {"id": 2, "total": 5.0, "at": "2026-09-01T10:00:00Z"})
    assert shop.once()["totals"].dead == 0
    dead = shop.pipeline.topic_of("totals", 1) + ".dead"
    shop.client.admin.topics.create(dead, partitions=1)
    bootstrap = shop.client.connection.address.bootstrap
    with ViewServer(bootstrap), shop.client.consumer(dead) as letters:
        letter = next(iter(letters))
    assert letter.value == {"customer": None, "total": 5.0}
    reason = dict(letter.headers)["headwater.reason"]
    assert b"needs a value for 'customer'" in reason
    assert shop.once()["totals"].dead == 1
