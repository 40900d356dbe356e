"""One client connection: frames in, answers out, in order.

Requests are handled one at a time, but for Produce: while one waits for its sync the next is appended, so
that a pipelining producer fills each sync. Reading stops while too much is pending; writing waits
for the reader. Anything that is not Kafka's protocol closes this connection and no other. A request that
has begun is finished even if its client is gone, but for those that only wait.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from headwater.broker.context import RequestContext
from headwater.broker.frames import Frames
from headwater.broker.outbox import Outbox, Reply
from headwater.broker.requests import Request, encode_response, read_request
from headwater.broker.stepping import Steps
from headwater.broker.transactions.endings import TooEarly
from headwater.errors import InvalidRequest, Superseded
from headwater.wire.schema import Message

if TYPE_CHECKING:
    from headwater.broker.server import Server

logger = logging.getLogger(__name__)

MOST_PIPELINED: Final = 32
MOST_PENDING_FRAMES: Final = 16
PRODUCE_KEY: Final = 0
TURN_S: Final = 0.001
"""So long one connection may take requests that have arrived before others have their turn."""
WAITING_KEYS: Final = frozenset({1, 11, 14})
"""Fetch, JoinGroup and SyncGroup wait for others and change nothing meanwhile: they may be given up."""

Answered = Callable[[Message | None], None]


class Connection(asyncio.BufferedProtocol):
    """The protocol side of a socket."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._traffic = server.broker.traffic
        self._frames = Frames(server.broker.settings.max_request_bytes, server.buffers)
        self._outbox = Outbox(server.broker, self._advance, self._hang_up)
        self._pending: deque[memoryview] = deque()
        self._running = 0
        self._running_only_produce = True
        self._is_advancing = False
        self._is_held_back = False
        self._is_read_paused = False
        self._is_ending = False
        self._transport: asyncio.Transport | None = None
        self._waiting: set[asyncio.Task[None]] = set()
        """Requests that may be given up."""
        self._steps = 0
        """Requests under way that are finished whatever happens, and who waits for the last of them."""
        self._all_finished: asyncio.Future[None] | None = None
        self._host = ""
        self._number = next(server.numbers)
        self.last_active_s = 0.0

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        peer = transport.get_extra_info("peername")
        self._host = peer[0] if isinstance(peer, tuple) else "local"
        self._outbox.open(transport)
        self.last_active_s = asyncio.get_running_loop().time()
        if not self._server.admit(self):
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._server.forget(self)
        self._give_up_waiting()
        self._outbox.close()
        self._pending.clear()
        self._frames.release()
        self._transport = None

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        return self._frames.room()

    def buffer_updated(self, nbytes: int) -> None:
        self._traffic.received_bytes += nbytes
        try:
            self._pending.extend(self._frames.received(nbytes))
        except InvalidRequest as error:
            self._hang_up(error)
            return
        if self._pending:
            self.last_active_s = asyncio.get_running_loop().time()
            self._advance()

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        self._outbox.pause()

    def resume_writing(self) -> None:
        self._outbox.resume()
        self._advance()

    # Requests

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close without waiting for the reader to take what was written."""
        if self._transport is not None:
            self._transport.abort()

    def drain(self) -> list[asyncio.Future[None]]:
        """Begin nothing more, and give up what only waits; returns the requests still to finish."""
        self._is_ending = True
        self._pending.clear()
        self._give_up_waiting()
        unfinished: list[asyncio.Future[None]] = list(self._waiting)
        if self._steps:
            self._all_finished = asyncio.get_running_loop().create_future()
            unfinished.append(self._all_finished)
        return unfinished

    @property
    def is_busy(self) -> bool:
        return self._running > 0

    def _advance(self) -> None:
        """Start every request that may start now; one that is answered at once lets in the next."""
        if self._is_advancing:
            return
        self._is_advancing = True
        loop = asyncio.get_running_loop()
        end_s = loop.time() + TURN_S
        try:
            while self._pending and self._may_start(self._pending[0]):
                if loop.time() > end_s:
                    loop.call_soon(self._advance)
                    break
                self._take_next()
        finally:
            self._is_advancing = False
        self._throttle()

    def _take_next(self) -> None:
        frame = self._pending.popleft()
        try:
            self._start(read_request(frame))
        except TooEarly as early:
            self._pending.appendleft(frame)
            self._hold_back(early.until)
        except Exception as error:  # noqa: BLE001 - the edge: whatever fails, fails for this connection
            self._fail(error)
        finally:
            if not self._is_held_back:
                self._frames.done_with(frame)

    def _hold_back(self, until: asyncio.Future[None]) -> None:
        """Begin nothing before that: what follows must not overtake a request that has to wait."""
        self._is_held_back = True
        until.add_done_callback(self._go_on)

    def _go_on(self, _: object) -> None:
        self._is_held_back = False
        self._advance()

    def _may_start(self, frame: memoryview) -> bool:
        if self._is_held_back or self._outbox.is_full:
            return False
        if self._is_ending or self._transport is None:
            return False
        if self._running == 0:
            return True
        is_produce = len(frame) >= 2 and frame[0] == 0 and frame[1] == PRODUCE_KEY
        return is_produce and self._running_only_produce and self._running < MOST_PIPELINED

    def _start(self, request: Request) -> None:
        loop = asyncio.get_running_loop()
        started = loop.time()
        context = RequestContext(
            self._server.broker, request.version, request.client_id, self._host, self._number
        )
        outcome = request.call(context)
        if outcome is None:
            self._traffic.count(request.name, loop.time() - started)
            return
        reply = self._outbox.reserve()
        if isinstance(outcome, Message):
            self._finish(request, reply, outcome, started)
            return
        self._running_only_produce = request.api_key == PRODUCE_KEY and (
            self._running == 0 or self._running_only_produce
        )
        self._running += 1
        answered = partial(self._answered, request, reply, started)
        if request.api_key in WAITING_KEYS:
            task = loop.create_task(self._await(outcome, answered))
            self._waiting.add(task)
            task.add_done_callback(self._waiting.discard)
        else:
            self._steps += 1
            Steps(outcome, partial(self._step_answered, answered), self._step_failed).go_on()

    async def _await(self, outcome: Awaitable[Message | None], answered: Answered) -> None:
        try:
            message = await outcome
        except Exception as error:  # noqa: BLE001 - the edge, as above
            self._fail(error)
        else:
            answered(message)

    def _step_answered(self, answered: Answered, message: Message | None) -> None:
        answered(message)
        self._step_done()

    def _step_failed(self, error: BaseException) -> None:
        self._fail(error)
        self._step_done()

    def _step_done(self) -> None:
        self._steps -= 1
        if self._steps == 0 and self._all_finished is not None:
            self._all_finished.set_result(None)

    def _give_up_waiting(self) -> None:
        for task in self._waiting:
            task.cancel()

    # Answers

    def _answered(
        self, request: Request, reply: Reply, started: float, message: Message | None
    ) -> None:
        self._running -= 1
        if message is None:
            self._outbox.give_up(reply)
        else:
            try:
                self._finish(request, reply, message, started)
            except Exception as error:  # noqa: BLE001 - the edge, as above
                self._fail(error)
        self._advance()

    def _finish(self, request: Request, reply: Reply, message: Message, started: float) -> None:
        if self._transport is None:
            return
        self._traffic.count(request.name, asyncio.get_running_loop().time() - started)
        self._outbox.send(reply, encode_response(request, message))

    def _throttle(self) -> None:
        """Stop reading while requests pile up; the client's socket fills and it waits."""
        transport = self._transport
        if transport is None:
            return
        is_full = len(self._pending) >= MOST_PENDING_FRAMES or (
            bool(self._pending) and self._frames.held_bytes > self._server.largest_backlog_bytes
        )
        if is_full and not self._is_read_paused:
            transport.pause_reading()
            self._is_read_paused = True
        elif not is_full and self._is_read_paused:
            self._is_read_paused = False
            transport.resume_reading()

    def _fail(self, error: BaseException) -> None:
        """A request that cannot be answered ends its connection, and nothing else."""
        if isinstance(error, InvalidRequest | Superseded):
            self._hang_up(error)
        else:
            logger.error("a request failed, its connection is closed", exc_info=error)
            self._hang_up(None)

    def _hang_up(self, error: Exception | None) -> None:
        self._is_ending = True
        if error is not None:
            self._traffic.malformed_requests += isinstance(error, InvalidRequest)
            logger.info("connection closed: %s", error, extra={"client": self._host})
        if self._transport is not None:
            self._transport.abort()
