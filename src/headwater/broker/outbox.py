"""The answers to one client on their way: in the order of its requests, no faster than it takes them.

Long answers are read piece by piece, each when its turn comes (`log/stretch`): on the event loop if that
costs no disk access and no producer waits, else on a thread. If a piece turns out to be damaged, what was
sent before it cannot be taken back: the client is cut off, and told when it asks again.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from headwater.errors import Corruption, StorageFailed
from headwater.log.batch_file import NotCached
from headwater.log.stretch import Stretch
from headwater.wire.encoder import Part, at_hand

if TYPE_CHECKING:
    from headwater.broker.broker import Broker

WRITE_BUFFER_BYTES: Final = 1 << 20


class Reply:
    """The answer to one request, in its place in the order."""

    __slots__ = ("is_ready", "parts", "size")

    def __init__(self) -> None:
        self.is_ready = False
        self.parts: deque[Part] = deque()
        self.size = 0

    @property
    def unread(self) -> Stretch | None:
        """What must be read before the next bytes can be written."""
        part = self.parts[0]
        return part if isinstance(part, Stretch) and not part.is_loaded else None

    def next_piece(self) -> bytes | memoryview:
        """Take the next bytes to write: no more at once than the transport may buffer.

        What a slow reader has not taken stays here, where it counts as outstanding.
        """
        if isinstance(stretch := self.parts[0], Stretch):
            piece = stretch.take()
            if stretch.is_spent:
                self.parts.popleft()
            self.parts.appendleft(piece)
        part = at_hand(self.parts.popleft())
        if len(part) > WRITE_BUFFER_BYTES:
            part = memoryview(part)
            self.parts.appendleft(part[WRITE_BUFFER_BYTES:])
            part = part[:WRITE_BUFFER_BYTES]
        return part


class Outbox:
    """Replies in order, and the transport that takes them."""

    def __init__(
        self, broker: "Broker", on_room: Callable[[], None], on_failure: Callable[[Exception], None]
    ) -> None:
        self._broker = broker
        self._traffic = broker.traffic
        self._on_room = on_room
        self._on_failure = on_failure
        self._replies: deque[Reply] = deque()
        self._is_paused = False
        self._loading: asyncio.Future[None] | None = None
        self._transport: asyncio.Transport | None = None

    def open(self, transport: asyncio.Transport) -> None:
        transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
        self._transport = transport

    def close(self) -> None:
        """Forget what nobody will read."""
        self._transport = None
        if self._loading is not None:
            self._loading.cancel()
        for reply in self._replies:
            self._traffic.outstanding_bytes -= reply.size
        self._replies.clear()

    @property
    def is_full(self) -> bool:
        """Whether the client has to take something before it is answered more."""
        return self._is_paused or self._loading is not None

    def pause(self) -> None:
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False
        self._flush()

    def reserve(self) -> Reply:
        """Keep a place in the order for an answer that is still to come."""
        reply = Reply()
        self._replies.append(reply)
        return reply

    def give_up(self, reply: Reply) -> None:
        """There is no answer to that request."""
        if reply in self._replies:
            self._replies.remove(reply)

    def send(self, reply: Reply, parts: list[Part]) -> None:
        reply.parts.extend(parts)
        reply.size = sum(len(each) for each in parts)
        reply.is_ready = True
        self._traffic.outstanding_bytes += reply.size
        self._flush()

    def _flush(self) -> None:
        """Write what is ready, in order, as long as the reader takes it and nobody else is kept waiting."""
        while self._replies and self._replies[0].is_ready:
            reply = self._replies[0]
            while reply.parts:
                if self.is_full or self._transport is None:
                    return
                has_producers = self._broker.committer.has_producers
                piece = self._next_piece(reply, aside=has_producers)
                if piece is None:
                    return
                self._transport.write(piece)
                if reply.parts and has_producers:
                    asyncio.get_running_loop().call_soon(self._flush)
                    return
            self._replies.popleft()
            self._traffic.outstanding_bytes -= reply.size
            self._traffic.sent_bytes += reply.size

    def _next_piece(self, reply: Reply, *, aside: bool) -> bytes | memoryview | None:
        """Return the next bytes; None if they are read aside first, or will never come."""
        unread = reply.unread
        try:
            if unread is None or not aside:
                return reply.next_piece()
        except NotCached:
            pass
        except (Corruption, StorageFailed) as error:
            self._on_failure(error)
            return None
        assert unread is not None
        self._loading = asyncio.ensure_future(self._load(unread))
        return None

    async def _load(self, stretch: Stretch) -> None:
        """Read the next piece of an answer on a thread; producers who wait for a sync come first."""
        try:
            await self._broker.committer.let_producers_by()
            await self._broker.read_on_thread(stretch.load)
        except (Corruption, StorageFailed) as error:
            self._on_failure(error)
            return
        self._loading = None
        self._flush()
        self._on_room()
