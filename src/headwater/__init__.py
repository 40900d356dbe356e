"""Headwater: the streaming half of a data system in one pip install.

Importing this package is cheap: everything public is loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

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

    def __getattr__(name: str) -> object:
        home = _HOMES.get(name)
        if home is None:
            message = f"module 'headwater' has no attribute {name!r}"
            raise AttributeError(message)
        module = import_module(home)
        return module if home.endswith(f".{name}") else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
