"""One blocking connection to one broker: a request out, its response in.

Speaks versions that every Kafka since 3.0 knows, so nothing is negotiated.
"""

import itertools
import socket
import ssl
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from headwater.bulk.security import Security
from headwater.config import join_address
from headwater.errors import InvalidRequest, Unavailable
from headwater.wire.codec import decode, encode_bytes
from headwater.wire.schema import Message

R = TypeVar("R", bound=Message)

_CLIENT_ID: Final = b"headwater"
_HEADER: Final = struct.Struct(">ihhih")
_RESPONSE: Final = struct.Struct(">ii")
_LARGEST_RESPONSE: Final = 1 << 30


class Connection:
    """A socket to a broker; any failure on it is `Unavailable`."""

    def __init__(self, host: str, port: int, security: Security, timeout_s: float) -> None:
        self.address = join_address(host, port)
        self._correlation_ids = itertools.count(1)
        context = security.context()
        with self._unavailable():
            self._socket = socket.create_connection((host, port), timeout=timeout_s)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if context is not None:
                self._socket = context.wrap_socket(self._socket, server_hostname=host)

    def close(self) -> None:
        self._socket.close()

    def call(self, request: Message, version: int, response: type[R]) -> R:
        """Send one request and wait for its response."""
        return self.receive(self.send(request, version), version, response)

    def send(self, request: Message, version: int) -> int:
        """Send without waiting; responses come in the order of requests."""
        correlation_id = next(self._correlation_ids)
        tags = b"\0" if request.is_flexible_in(version) else b""
        body = _CLIENT_ID + tags + encode_bytes(request, version)
        size = _HEADER.size - 4 + len(body)
        header = _HEADER.pack(size, request.api_key, version, correlation_id, len(_CLIENT_ID))
        with self._unavailable():
            self._socket.sendall(header + body)
        return correlation_id

    def receive(self, correlation_id: int, version: int, response: type[R]) -> R:
        """Wait for the response to the oldest request; record batches are views of its bytes."""
        with self._unavailable():
            size, answered = _RESPONSE.unpack(self._receive_exactly(_RESPONSE.size))
            if answered != correlation_id or not 4 <= size <= _LARGEST_RESPONSE:
                raise OSError("what answers there does not speak Kafka's protocol")
            body = self._receive_exactly(size - 4)
        return decode(response, version, body, 1 if response.is_flexible_in(version) else 0)

    def _receive_exactly(self, size: int) -> memoryview:
        view = memoryview(bytearray(size))
        got = 0
        while got < size:
            received = self._socket.recv_into(view[got:])
            if not received:
                raise OSError("it closed the connection")
            got += received
        return view

    @contextmanager
    def _unavailable(self) -> Iterator[None]:
        try:
            yield
        except ssl.SSLCertVerificationError as error:
            raise InvalidRequest(
                f"the certificate of the broker at {self.address} is not trusted: "
                f"{error.verify_message}",
                hint="name the authority that signed it with ssl.ca.location",
            ) from error
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise Unavailable(
                f"cannot reach the broker at {self.address}: {reason}",
                hint="is it running? see: headwater doctor",
            ) from error
