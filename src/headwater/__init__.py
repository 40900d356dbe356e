"""Headwater: the streaming half of a data system in one pip install.

Importing this package is cheap: everything public is loaded on first use.
"""

from typing import TYPE_CHECKING

from headwater.lazy_names import lazy_names

if TYPE_CHECKING:
    from headwater import errors as errors
    from headwater import testing as testing
    from headwater.client import AsyncClient as AsyncClient
    from headwater.client import AsyncConsumer as AsyncConsumer
    from headwater.client import AsyncProducer as AsyncProducer
    from headwater.client import Client as Client
    from headwater.client import Consumer as Consumer
    from headwater.client import Producer as Producer
    from headwater.client import Receipt as Receipt
    from headwater.client import Record as Record
    from headwater.client import connect as connect
    from headwater.streams.pipeline import Pipeline as Pipeline

__all__ = [
    "AsyncClient",
    "AsyncConsumer",
    "AsyncProducer",
    "Client",
    "Consumer",
    "Pipeline",
    "Producer",
    "Receipt",
    "Record",
    "connect",
    "errors",
    "testing",
]

_HOMES = {
    **dict.fromkeys(
        (
            "AsyncClient",
            "AsyncConsumer",
            "AsyncProducer",
            "Client",
            "Consumer",
            "Producer",
            "Receipt",
            "Record",
            "connect",
        ),
        "headwater.client",
    ),
    "Pipeline": "headwater.streams.pipeline",
    "errors": "headwater.errors",
    "testing": "headwater.testing",
}

if not TYPE_CHECKING:  # a type checker that sees it believes in every name
    __getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
