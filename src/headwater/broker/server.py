"""The TCP server: accepts connections, counts them, closes idle ones, and stops cleanly."""

import asyncio
import itertools
import logging
import resource
import socket
from dataclasses import replace
from typing import Final

from headwater.broker.broker import Broker, Node
from headwater.broker.connection import Connection
from headwater.broker.dispatch import APIS
from headwater.broker.frames import BufferPool
from headwater.broker.listening import cannot
from headwater.broker.setting_checks import refuse_unreachable
from headwater.config import join_address, split_address

logger = logging.getLogger(__name__)

BACKLOG: Final = 1024
ACCEPTED_AT_ONCE: Final = 1
"""When no more files can be opened, asyncio complains of each that it tries to accept at once."""
IDLE_CHECK_S: Final = 10.0
DRAIN_S: Final = 5.0


class Server:
    """A broker that listens."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.buffers = BufferPool()
        self.largest_backlog_bytes = 2 << 20
        self.numbers = itertools.count(1)
        # Half of the files that may be open are left for logs, which take what connections do not.
        files, most = resource.getrlimit(resource.RLIMIT_NOFILE)[0], broker.settings.max_connections
        self._most_connections = most if files == resource.RLIM_INFINITY else min(most, files // 2)
        self._connections: set[Connection] = set()
        self._listener: asyncio.Server | None = None
        self._sweeper: asyncio.Task[None] | None = None

    @property
    def address(self) -> str:
        return join_address(self.broker.node.host, self.broker.node.port)

    @property
    def bound_address(self) -> str:
        """Where it listens, which may not be what clients are told."""
        assert self._listener is not None
        host, port = self._listener.sockets[0].getsockname()[:2]
        return join_address(host, port)

    async def start(self) -> None:
        """Recover the data, then listen: a client that can connect can be served."""
        settings = self.broker.settings
        host, port = split_address(settings.listen, "listen")
        refuse_unreachable(settings)
        self.broker.api_versions = {key: api.request.versions for key, api in APIS.items()}
        await self.broker.start()
        try:
            self._listener = await asyncio.get_running_loop().create_server(
                lambda: Connection(self), host, port, backlog=ACCEPTED_AT_ONCE
            )
        except OSError as error:
            await self.broker.stop()
            raise cannot("listen", "listen", settings.listen, error) from error
        for each in self._listener.sockets:
            with socket.fromfd(each.fileno(), each.family, each.type) as listening:
                listening.listen(BACKLOG)
        bound = self._listener.sockets[0].getsockname()[1]
        self.broker.node = self._node(host, bound)
        self._sweeper = asyncio.create_task(self._close_idle())

    async def stop(self) -> None:
        """Stop listening, let running requests finish their writes, then close the logs."""
        await self._stop_listening()
        await self._drain()
        for each in list(self._connections):
            each.close()
        await self.broker.stop()
        for each in list(self._connections):
            each.abort()

    async def abandon(self) -> None:
        """Stop as a crash would: connections break, and what is on disk stays as it is."""
        await self._stop_listening()
        for each in list(self._connections):
            each.abort()
        self.broker.abandon()

    async def _stop_listening(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
        if self._listener is None:
            return
        loop = asyncio.get_running_loop()
        for each in self._listener.sockets:
            loop.remove_reader(each.fileno())
        # What was accepted in this moment becomes a connection first: asyncio would lose its socket.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self._listener.close()

    async def _drain(self) -> None:
        """Let requests that have begun finish, so that their clients learn of it."""
        running = [task for each in self._connections for task in each.drain()]
        if running:
            await asyncio.wait(running, timeout=DRAIN_S)

    def admit(self, connection: Connection) -> bool:
        traffic = self.broker.traffic
        if len(self._connections) >= self._most_connections:
            traffic.refused_connections += 1
            logger.warning("too many connections, one was refused")
            return False
        self._connections.add(connection)
        traffic.connections = len(self._connections)
        self.broker.open_logs.make_room()
        return True

    def forget(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self.broker.traffic.connections = len(self._connections)

    def _node(self, host: str, port: int) -> Node:
        node = replace(self.broker.node, host=host, port=port)
        if self.broker.settings.advertised:
            advertised = split_address(self.broker.settings.advertised, "advertised")
            return replace(node, host=advertised[0], port=advertised[1])
        return node

    async def _close_idle(self) -> None:
        loop = asyncio.get_running_loop()
        longest_s = self.broker.settings.max_idle_ms / 1000
        while True:
            await asyncio.sleep(min(IDLE_CHECK_S, longest_s / 2))
            oldest = loop.time() - longest_s
            for each in list(self._connections):
                if each.last_active_s < oldest and not each.is_busy:
                    each.close()
