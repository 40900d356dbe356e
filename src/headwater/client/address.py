"""Where the broker is: the address given, that of the environment, this folder's broker, or localhost.

`headwater dev` and `headwater serve` leave `.headwater/broker.json` in their folder:
`{"bootstrap": "127.0.0.1:9092", "pid": 4711}`.
"""

import json
import os
import socket
from dataclasses import dataclass
from pathlib import Path

from headwater.config import join_address
from headwater.errors import InvalidRequest, Unavailable

BROKER_FILE = Path(".headwater") / "broker.json"
DEFAULT_BOOTSTRAP = "localhost:9092"
DEFAULT_PORT = 9092
_PROBE_TIMEOUT_S = 3.0


@dataclass(frozen=True, slots=True)
class Address:
    """`bootstrap` as Kafka writes it (`host:port,host:port`), and which setting it came from."""

    bootstrap: str
    origin: str

    @property
    def endpoints(self) -> list[tuple[str, int]]:
        return [_host_and_port(part) for part in self.bootstrap.split(",")]


def find_address(address: str | None = None, *, folder: Path | None = None) -> Address:
    """What `connect(address)` means in this folder."""
    if address is not None:
        if not isinstance(address, str):
            raise InvalidRequest(
                what=f"{address!r} is not an address of a broker", hint='write "host:port"'
            )
        return Address(_parse(address), "given")
    from_environment = os.environ.get("HEADWATER_BOOTSTRAP")
    if from_environment:
        return Address(_parse(from_environment), "HEADWATER_BOOTSTRAP")
    of_folder = _broker_of(folder or Path.cwd())
    return of_folder or Address(DEFAULT_BOOTSTRAP, "default")


def refuse_if_unreachable(address: Address) -> None:
    """Fail in a moment with one sentence, where librdkafka would retry until a timeout."""
    reason = ""
    for endpoint in address.endpoints:
        try:
            socket.create_connection(endpoint, timeout=_PROBE_TIMEOUT_S).close()
        except UnicodeError:
            reason = f"{endpoint[0]!r} is not the name of a host"
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
        else:
            return
    raise Unavailable(
        what=f"cannot reach a broker at {address.bootstrap}: {reason}",
        hint=_HINTS.get(address.origin, f"the address comes from {address.origin}: is it running?"),
    )


_HINTS = {
    "given": "is the broker running, and is the address right?",
    "default": "start one in this folder with: headwater dev",
    "HEADWATER_BOOTSTRAP": "HEADWATER_BOOTSTRAP names this address: is it right?",
}


def _broker_of(folder: Path) -> Address | None:
    for parent in (folder, *folder.parents):
        path = parent / BROKER_FILE
        try:
            content = path.read_text()
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
        try:
            return Address(_parse(json.loads(content)["bootstrap"]), str(path))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidRequest(
                what=f"{path} does not name a broker",
                hint="remove it and start the broker again: headwater dev",
            ) from error
    return None


def _parse(address: str) -> str:
    scheme, separator, rest = address.partition("://")
    if separator and scheme != "kafka":
        raise InvalidRequest(
            what=f"{address!r} is not an address of a broker",
            hint='write "host:port" or "kafka://host:port,host2:port"',
        )
    servers = (rest if separator else address).rstrip("/")
    endpoints = [_host_and_port(endpoint) for endpoint in servers.split(",")]
    return ",".join(join_address(host, port) for host, port in endpoints)


def _host_and_port(endpoint: str) -> tuple[str, int]:
    host, separator, port = endpoint.strip().rpartition(":")
    if not separator or (host.count(":") and not host.endswith("]")):
        host, port = endpoint.strip(), str(DEFAULT_PORT)
    host = host.strip("[]")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise InvalidRequest(
            what=f"{endpoint!r} is not an address of a broker",
            hint='write "host:port" or "kafka://host:port,host2:port"',
        )
    return host, int(port)
