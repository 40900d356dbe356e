"""A TCP proxy that treats bytes badly, between a real client and the broker."""

import asyncio
import contextlib
import threading
from dataclasses import dataclass
from random import Random
from typing import Self

CHUNK_BYTES = 1 << 14


@dataclass(slots=True)
class Harm:
    """How often each thing happens to a chunk of bytes, per chunk; all zero is a transparent proxy."""

    flip: float = 0.0
    """Only on the way to the broker: an answer has no checksum that a client could refuse it by."""
    cut: float = 0.0
    repeat: float = 0.0
    delay: float = 0.0
    crumble: float = 0.0
    """Byte by byte."""


class Proxy:
    """Forwards connections to `target`; what happens on the way is `harm`, which may change at any time."""

    def __init__(self, rng: Random) -> None:
        self.harm = Harm()
        self.harmed = 0
        self.target = ("127.0.0.1", 0)
        self._rng = rng
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._writers: set[asyncio.StreamWriter] = set()
        self.port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        starting = asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._server = asyncio.run_coroutine_threadsafe(starting, self._loop).result()
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        for each in self._writers:
            each.transport.abort()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with contextlib.suppress(OSError, asyncio.CancelledError):
            broker_reader, broker_writer = await asyncio.open_connection(*self.target)
            self._writers.add(broker_writer)
            there = self._forward(reader, broker_writer, may_flip=True)
            back = self._forward(broker_reader, writer, may_flip=False)
            await asyncio.wait(
                [asyncio.ensure_future(there), asyncio.ensure_future(back)],
                return_when=asyncio.FIRST_COMPLETED,
            )
            broker_writer.transport.abort()
        writer.transport.abort()

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, may_flip: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK_BYTES):
                harmed = await self._harm(bytearray(data), may_flip=may_flip)
                if self._happens(self.harm.crumble):
                    for each in harmed[:200]:
                        writer.write(bytes([each]))
                        await asyncio.sleep(0)
                    harmed = harmed[200:]
                writer.write(harmed)
                await writer.drain()
                if self._happens(self.harm.cut):
                    return

    async def _harm(self, data: bytearray, *, may_flip: bool) -> bytes:
        rng, harm = self._rng, self.harm
        if may_flip and self._happens(harm.flip):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        if may_flip and self._happens(harm.repeat):
            start = rng.randrange(len(data))
            data[start:start] = data[start : start + rng.choice((1, 100, len(data)))]
        if self._happens(harm.delay):
            await asyncio.sleep(rng.random() * 0.02)
        if self._happens(harm.cut / 2):
            del data[rng.randrange(len(data)) :]
        return bytes(data)

    def _happens(self, chance: float) -> bool:
        # The first chance is always taken: how many come depends on how the client batches.
        happens = chance > 0 and (self.harmed == 0 or self._rng.random() < chance)
        self.harmed += happens
        return happens
