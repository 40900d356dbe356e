"""Between a client and a real broker: adds TLS, denies that the broker leads, loses its answers."""

import contextlib
import socket
import ssl
import struct
import threading
from collections import Counter
from typing import Self

from headwater.wire.codec import decode, encode_bytes
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.fetch import FetchResponse


class Relay:
    """Forwards frames to `target`.

    While `denials` is positive, an answer to Fetch uses one up. `losses` counts answers, by API, that are
    to be lost, and the connection with each.
    """

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.target = ("127.0.0.1", 0)
        self.denials = 0
        self.losses: Counter[int] = Counter()
        self._context = context
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self._sockets: list[socket.socket] = [self._server]
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._run(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join()

    def _run(self, work, *args) -> None:
        thread = threading.Thread(target=work, args=args)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                self._sockets.append(client)
                self._run(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if self._context is not None:
                client = self._context.wrap_socket(client, server_side=True)
            broker = socket.create_connection(self.target)
            self._sockets += [client, broker]
            asked: dict[int, tuple[int, int]] = {}
            self._run(self._forward_requests, client, broker, asked)
            self._run(self._forward_responses, broker, client, asked)

    def _forward_requests(self, client, broker, asked) -> None:
        with contextlib.suppress(OSError), client, broker, client.makefile("rb") as stream:
            while frame := read_frame(stream):
                api_key, version, correlation_id = struct.unpack_from(">hhi", frame)
                asked[correlation_id] = (api_key, version)
                broker.sendall(struct.pack(">i", len(frame)) + frame)
            broker.shutdown(socket.SHUT_RDWR)

    def _forward_responses(self, broker, client, asked) -> None:
        with contextlib.suppress(OSError), broker, client, broker.makefile("rb") as stream:
            while frame := read_frame(stream):
                api_key, version = asked.pop(struct.unpack_from(">i", frame)[0])
                if api_key == FetchResponse.api_key and self.denials:
                    self.denials -= 1
                    frame = denied(frame, version)
                if self.losses[api_key]:
                    self.losses[api_key] -= 1
                    break
                client.sendall(struct.pack(">i", len(frame)) + frame)
            client.shutdown(socket.SHUT_RDWR)


def read_frame(stream) -> bytes:
    size = stream.read(4)
    return stream.read(struct.unpack(">i", size)[0]) if len(size) == 4 else b""


def denied(frame: bytes, version: int) -> bytes:
    answer = decode(FetchResponse, version, memoryview(frame), 5)
    for topic in answer.responses:
        for each in topic.partitions:
            each.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
            each.records = b""
    return frame[:5] + encode_bytes(answer, version)
