"""Server-sent events over a socket of our own: as much of them as one wants to read, and when."""

import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import quote


@dataclass(frozen=True)
class Event:
    kind: str
    data: Any
    id: str | None


class Stream:
    """One subscription; `read` events, or do not, to be slow."""

    def __init__(
        self,
        host: str,
        path: str,
        *,
        last_id: str | None = None,
        receive_bytes: int | None = None,
        **parameters: str,
    ) -> None:
        address, _, port = host.rpartition(":")
        self.socket = socket.socket()
        if receive_bytes is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(30)
        self.socket.connect((address, int(port)))
        query = "&".join(f"{name}={quote(value)}" for name, value in parameters.items())
        lines = [f"GET /v1{path}?{query} HTTP/1.1", f"Host: {host}", "Accept: text/event-stream"]
        lines += [f"Last-Event-ID: {last_id}"] if last_id else []
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self._file = self.socket.makefile("rb")
        self.status = int(self._file.readline().split()[1])
        while self._file.readline().strip():
            pass
        self._events = self._parse()

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def _parse(self) -> Iterator[Event]:
        kind, data, event_id, rest = "", "", None, b""
        while size := int(self._file.readline() or b"0", 16):
            piece = self._file.read(size)
            self._file.readline()
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                name, _, value = line.decode().partition(": ")
                if not line:
                    if data:  # or it was a comment
                        yield Event(kind, json.loads(data), event_id)
                    kind, data, event_id = "", "", None
                elif name == "event":
                    kind = value
                elif name == "data":
                    data = value
                elif name == "id":
                    event_id = value

    def read(self, count: int) -> list[Event]:
        return [next(self._events) for _ in range(count)]

    def close(self) -> None:
        self._file.close()
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
