"""What a handler knows besides its request."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headwater.broker.broker import Broker


@dataclass(frozen=True, slots=True)
class RequestContext:
    """Who asks, in which version, and the broker that answers."""

    broker: "Broker"
    version: int
    client_id: str
    client_host: str
    connection: int = 0
    """Connections are numbered in the order in which they were opened."""
