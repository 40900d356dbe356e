"""Requests to a server of views, and its streams of events: HTTP of the standard library."""

import http.client
import json
import math
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlencode

import headwater.errors
from headwater.client.view_address import ViewAddress
from headwater.config import refuse_unsendable
from headwater.errors import HeadwaterError, InvalidRequest, Unavailable

STREAM_TIMEOUT_S: Final = 30.0
"""The server says something every ten seconds; after so long it is gone."""

_LONGEST_WAIT_S: Final = 86_400.0
_NOT_NOW: Final = (502, 503, 504)
"""What a proxy says while the server behind it is away."""

_HINTS: Final = {
    "default": "start one in this folder with: headwater view serve",
    "given": "is the server running, and is the address right?",
}

Parameters = Mapping[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Event:
    kind: str
    data: Any
    id: str | None


class ViewHttp:
    """Any number of threads ask at the same time; the connections that they open are kept."""

    def __init__(self, address: ViewAddress, token: str = "", timeout_s: float = 10.0) -> None:
        _refuse_no_duration(timeout_s)
        self.address = address
        self.timeout_s = timeout_s
        refuse_unsendable(token)
        self._headers: dict[str, str | bytes] = (
            {"Authorization": f"Bearer {token}".encode()} if token else {}
        )
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []
        self._is_closed = False

    def get(self, *path: str, parameters: Parameters | None = None, wait_s: float = 0.0) -> Any:
        """The JSON of an answer; raises what the server says is wrong."""
        return self._ask("GET", _target(self.address, path, parameters), None, wait_s)

    def post(self, *path: str, content: Any = None, wait_s: float = 0.0) -> Any:
        body = b"" if content is None else json.dumps(content).encode()
        return self._ask("POST", _target(self.address, path, None), body, wait_s)

    def read(self, answer: Any, reader: Callable[[Any], T]) -> T:
        """What an answer says; raises `HeadwaterError` if it is not what our server answers."""
        try:
            return reader(answer)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise self._stranger() from error

    def close(self) -> None:
        """Close what is idle; a connection on which somebody waits is closed after its answer."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def stream(
        self, *path: str, parameters: Parameters | None, last_id: str | None
    ) -> "EventStream":
        """Open a stream on a connection of its own; raises what the server says is wrong."""
        connection = self._connect(STREAM_TIMEOUT_S)
        headers = {**self._headers, **({"Last-Event-ID": last_id} if last_id else {})}
        try:
            connection.request("GET", _target(self.address, path, parameters), headers=headers)
            response = connection.getresponse()
            if response.status != 200:
                raise _error_of_answer(response.status, response.read())
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._unreachable(error) from error
        except HeadwaterError:
            connection.close()
            raise
        return EventStream(connection, response)

    def _ask(self, method: str, target: str, body: bytes | None, wait_s: float) -> Any:
        _refuse_no_duration(wait_s)
        headers = {**self._headers, **({"Content-Type": "application/json"} if body else {})}
        while True:
            kept = self._take_kept()
            connection = kept or self._connect(self.timeout_s)
            try:
                connection.sock.settimeout(min(self.timeout_s + wait_s, _LONGEST_WAIT_S))
                connection.request(method, target, body, headers)
                response = connection.getresponse()
                content = response.read()
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                # The server may have closed a connection that was idle: that is no answer yet.
                if kept is None or isinstance(error, TimeoutError):
                    raise self._unreachable(error) from error
            else:
                self._keep(connection)
                break
        if response.status != 200:
            raise _error_of_answer(response.status, content)
        try:
            return json.loads(content)
        except ValueError as error:
            raise self._stranger() from error

    def _take_kept(self) -> http.client.HTTPConnection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _keep(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if not self._is_closed and connection.sock is not None:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self, timeout_s: float) -> http.client.HTTPConnection:
        kind = (
            http.client.HTTPSConnection if self.address.is_encrypted else http.client.HTTPConnection
        )
        connection = kind(self.address.host, self.address.port, timeout=timeout_s)
        try:
            connection.connect()
        except OSError as error:
            raise self._unreachable(error) from error
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def _stranger(self) -> HeadwaterError:
        return HeadwaterError(
            f"what answers at {self.address} is not a server of views", "is the address right?"
        )

    def _unreachable(self, error: Exception) -> Unavailable:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        origin = self.address.origin
        hint = _HINTS.get(origin, f"the address comes from {origin}: is it running?")
        return Unavailable(
            f"cannot reach a server of views at {self.address}: {reason.lower()}", hint
        )


class EventStream:
    """Events as they come; raises OSError when the connection breaks, ends when the server ends it."""

    def __init__(
        self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse
    ) -> None:
        self._connection = connection
        self._response = response

    def __iter__(self) -> Iterator[Event]:
        kind, data, event_id = "message", "", None
        while line := self._response.readline():
            name, _, value = line.decode().rstrip("\r\n").partition(": ")
            match name:
                case "":
                    if data:
                        yield Event(kind, json.loads(data), event_id)
                    kind, data, event_id = "message", "", None
                case "event":
                    kind = value
                case "data":
                    data += value
                case "id":
                    event_id = value or None

    def interrupt(self) -> None:
        """Let the iteration end, from another thread."""
        if self._connection.sock is not None:
            with suppress(OSError):
                self._connection.sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._response.close()
        self._connection.close()


def _target(address: ViewAddress, path: tuple[str, ...], parameters: Parameters | None) -> str:
    given = {name: value for name, value in (parameters or {}).items() if value is not None}
    query = f"?{urlencode(given, doseq=True)}" if given else ""
    return f"{address.path}/v1/{'/'.join(quote(part, safe='') for part in path)}{query}"


def _refuse_no_duration(timeout_s: float) -> None:
    if not 0 <= timeout_s < math.inf:
        raise InvalidRequest(f"timeout_s is {timeout_s}, and must be a number of seconds from 0 on")


def _error_of_answer(status: int, content: bytes) -> HeadwaterError:
    try:
        return error_of(json.loads(content)["error"])
    except (ValueError, KeyError, TypeError):
        kind = Unavailable if status in _NOT_NOW else HeadwaterError
        return kind(f"the server of views answered with status {status}")


def error_of(content: Mapping[str, Any]) -> HeadwaterError:
    """The error that the server has described."""
    kind = getattr(headwater.errors, content["kind"], HeadwaterError)
    error = kind(content["what"], content["hint"])
    return error if isinstance(error, HeadwaterError) else HeadwaterError(content["what"])
