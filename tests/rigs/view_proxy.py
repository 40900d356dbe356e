"""Between clients and a server of views: it counts connections and sees what is asked."""

import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit


class ViewProxy(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, server_url: str) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        parts = urlsplit(server_url)
        assert parts.hostname
        assert parts.port
        self.server = parts.hostname, parts.port
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.accepted = 0
        self.open = 0
        self.asked = b""
        self._changed = threading.Condition()

    def note(self, *, accepted: int = 0, opened: int = 0, asked: bytes = b"") -> None:
        with self._changed:
            self.accepted += accepted
            self.open += opened
            self.asked += asked
            self._changed.notify_all()

    def wait_until(self, holds: Callable[["ViewProxy"], bool], timeout_s: float = 15) -> bool:
        """Whether it came to hold in time."""
        with self._changed:
            return self._changed.wait_for(lambda: holds(self), timeout_s)


class _Connection(socketserver.BaseRequestHandler):
    server: ViewProxy

    def handle(self) -> None:
        self.server.note(accepted=1, opened=1)
        with socket.create_connection(self.server.server) as served:
            back = threading.Thread(target=_carry, args=(served, self.request, lambda _: None))
            back.start()
            _carry(self.request, served, lambda asked: self.server.note(asked=asked))
            back.join()
        self.server.note(opened=-1)


def _carry(source: socket.socket, to: socket.socket, see: Callable[[bytes], None]) -> None:
    """Until one of the two is closed; then both are."""
    try:
        while data := source.recv(65536):
            to.sendall(data)
            see(data)
        to.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


@contextmanager
def running_proxy(server_url: str) -> Iterator[ViewProxy]:
    with ViewProxy(server_url) as proxy:
        serving = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05})
        serving.start()
        yield proxy
        proxy.shutdown()
        serving.join()
