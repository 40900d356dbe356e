"""Cut a byte stream into frames: a 4-byte length, then so many bytes.

Small frames share one receive buffer; a large one gets a buffer from the pool, filled by the socket
directly. A length that is not allowed is refused before anything is allocated for it.
"""

import struct
from typing import Final

from headwater.errors import InvalidRequest

RECEIVE_BYTES: Final = 64 << 10
FIRST_ALLOCATION_BYTES: Final = 2 << 20
LARGEST_ORDINARY_BYTES: Final = 10 << 20
"""Only Produce carries bulk: other requests are far smaller, and decoding one costs many times its size."""

POOLED_BYTES: Final = 16 << 20
_HEAD: Final = struct.Struct(">ih")
PRODUCE_KEY: Final = 0


class BufferPool:
    """Large buffers for reuse: making one costs more than filling it."""

    def __init__(self) -> None:
        self._free: list[bytearray] = []
        self._free_bytes = 0

    def take(self, size: int) -> bytearray:
        for index, each in enumerate(self._free):
            if len(each) >= size:
                self._free_bytes -= len(each)
                return self._free.pop(index)
        return bytearray(size)

    def give(self, buffer: bytearray) -> None:
        if self._free_bytes + len(buffer) <= POOLED_BYTES:
            self._free.append(buffer)
            self._free_bytes += len(buffer)


class Frames:
    """The frames of one connection."""

    def __init__(self, max_request_bytes: int, pool: BufferPool) -> None:
        self._max_request_bytes = max_request_bytes
        self._pool = pool
        self._buffer = bytearray(RECEIVE_BYTES)
        self._start = 0
        self._end = 0
        self._large: bytearray | None = None
        self._large_size = 0
        self._large_filled = 0
        self._lent: dict[int, bytearray] = {}
        self.held_bytes = 0

    def room(self) -> memoryview:
        """Where the next bytes of the socket go."""
        if self._large is not None:
            if self._large_filled == len(self._large):
                self._grow()
            end = min(len(self._large), self._large_size)
            return memoryview(self._large)[self._large_filled : end]
        return memoryview(self._buffer)[self._end :]

    def received(self, count: int) -> list[memoryview]:
        """Take note of `count` bytes in the room; returns the frames that are whole now."""
        if self._large is not None:
            self._large_filled += count
            return [self._finish_large()] if self._large_filled == self._large_size else []
        self._end += count
        frames = []
        while self._large is None and (frame := self._next()) is not None:
            frames.append(frame)
        self._make_room()
        return frames

    def done_with(self, frame: memoryview) -> None:
        """Give the memory of a frame back."""
        self.held_bytes -= len(frame)
        buffer = self._lent.pop(id(frame), None)
        frame.release()
        if buffer is not None:
            self._pool.give(buffer)

    def release(self) -> None:
        self._large = None
        self._lent.clear()

    def _next(self) -> memoryview | None:
        available = self._end - self._start
        if available < 4:
            return None
        size = int.from_bytes(self._buffer[self._start : self._start + 4], "big", signed=True)
        self._check(size, available)
        if size + 4 > available:
            if size + 4 > RECEIVE_BYTES:
                self._start_large(size)
            return None
        start = self._start + 4
        self._start = start + size
        self.held_bytes += size
        return memoryview(bytes(memoryview(self._buffer)[start : start + size]))

    def _check(self, size: int, available: int) -> None:
        if not 0 < size <= self._max_request_bytes:
            raise InvalidRequest(f"a request of {size} bytes is not allowed")
        if size > LARGEST_ORDINARY_BYTES and available >= _HEAD.size:
            _, api_key = _HEAD.unpack_from(self._buffer, self._start)
            if api_key != PRODUCE_KEY:
                raise InvalidRequest(f"a request of {size} bytes to API {api_key} is not allowed")

    def _start_large(self, size: int) -> None:
        have = memoryview(self._buffer)[self._start + 4 : self._end]
        self._large = self._pool.take(min(size, FIRST_ALLOCATION_BYTES))
        self._large[: len(have)] = have
        self._large_size = size
        self._large_filled = len(have)
        self._start = self._end = 0

    def _grow(self) -> None:
        """More of a very large frame has really arrived: only now is more allocated."""
        assert self._large is not None
        grown = bytearray(min(self._large_size, len(self._large) * 2))
        grown[: self._large_filled] = memoryview(self._large)[: self._large_filled]
        self._large = grown

    def _finish_large(self) -> memoryview:
        assert self._large is not None
        frame = memoryview(self._large)[: self._large_size]
        self._lent[id(frame)] = self._large
        self._large = None
        self.held_bytes += len(frame)
        return frame

    def _make_room(self) -> None:
        if self._start == self._end:
            self._start = self._end = 0
        elif self._start:
            rest = bytes(memoryview(self._buffer)[self._start : self._end])
            self._buffer[: len(rest)] = rest
            self._start, self._end = 0, len(rest)
