"""How to reach the log from the driver and from executors: an address, and librdkafka's options."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from headwater.bulk.cluster import Cluster
from headwater.bulk.security import Security
from headwater.client.address import Address, find_address
from headwater.client.client import Client
from headwater.client.connection import Connection
from headwater.clock import SystemClock

BOOTSTRAP: Final = "bootstrap.servers"
_TIMEOUT_S: Final = 30.0
_SECURITY: Final = ("security.", "ssl.", "sasl.")


@dataclass(frozen=True, slots=True)
class LogAccess:
    """Plain data, so that it can travel; connections are made where they are needed."""

    address: Address
    kafka: Mapping[str, str]

    @classmethod
    def of(cls, kafka: Mapping[str, str]) -> "LogAccess":
        """Resolve the address here, on the driver: executors may have another folder."""
        others = {name: value for name, value in kafka.items() if name != BOOTSTRAP}
        return cls(find_address(kafka.get(BOOTSTRAP)), others)

    @property
    def security(self) -> Mapping[str, str]:
        return {name: each for name, each in self.kafka.items() if name.startswith(_SECURITY)}

    def cluster(self, timeout_s: float = _TIMEOUT_S) -> Cluster:
        names = {each.name for each in fields(Security)}
        given = {name.replace(".", "_"): value for name, value in self.security.items()}
        security = Security(**{name: value for name, value in given.items() if name in names})
        return Cluster(self.address.endpoints, security, timeout_s)

    def client(self) -> Client:
        options: dict[str, Any] = dict(self.security)
        return Client(Connection(self.address, _TIMEOUT_S, options), SystemClock())
