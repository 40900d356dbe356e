"""The client: produce, consume, administer, ask views; against Headwater and Apache Kafka alike.

It stands on librdkafka and hides it: no name and no exception of `confluent_kafka` crosses this
package's boundary. Nothing is loaded before its first use: the pure modules stay cheap to import.
"""

from typing import TYPE_CHECKING

from headwater.lazy_names import lazy_names

if TYPE_CHECKING:
    from headwater.client.admin import Admin as Admin
    from headwater.client.async_client import AsyncClient as AsyncClient
    from headwater.client.async_consumer import AsyncConsumer as AsyncConsumer
    from headwater.client.async_producer import AsyncDelivery as AsyncDelivery
    from headwater.client.async_producer import AsyncProducer as AsyncProducer
    from headwater.client.async_subscription import AsyncSubscription as AsyncSubscription
    from headwater.client.async_view import AsyncView as AsyncView
    from headwater.client.client import Client as Client
    from headwater.client.client import connect as connect
    from headwater.client.consumer import Consumer as Consumer
    from headwater.client.producer import Delivery as Delivery
    from headwater.client.producer import Producer as Producer
    from headwater.client.record import Receipt as Receipt
    from headwater.client.record import Record as Record
    from headwater.client.view import Row as Row
    from headwater.client.view import ServedView as ServedView
    from headwater.client.view import Views as Views
    from headwater.client.view_subscription import Change as Change
    from headwater.client.view_subscription import Subscription as Subscription

__all__ = [
    "Admin",
    "AsyncClient",
    "AsyncConsumer",
    "AsyncDelivery",
    "AsyncProducer",
    "AsyncSubscription",
    "AsyncView",
    "Change",
    "Client",
    "Consumer",
    "Delivery",
    "Producer",
    "Receipt",
    "Record",
    "Row",
    "ServedView",
    "Subscription",
    "Views",
    "connect",
]

_HOMES = {
    "Admin": "headwater.client.admin",
    "AsyncClient": "headwater.client.async_client",
    "AsyncConsumer": "headwater.client.async_consumer",
    "AsyncDelivery": "headwater.client.async_producer",
    "AsyncProducer": "headwater.client.async_producer",
    "AsyncSubscription": "headwater.client.async_subscription",
    "AsyncView": "headwater.client.async_view",
    "Change": "headwater.client.view_subscription",
    "Client": "headwater.client.client",
    "Consumer": "headwater.client.consumer",
    "Delivery": "headwater.client.producer",
    "Producer": "headwater.client.producer",
    "Receipt": "headwater.client.record",
    "Record": "headwater.client.record",
    "Row": "headwater.client.view",
    "ServedView": "headwater.client.view",
    "Subscription": "headwater.client.view_subscription",
    "Views": "headwater.client.view",
    "connect": "headwater.client.client",
}


if not TYPE_CHECKING:  # a type checker that sees it believes in every name
    __getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
