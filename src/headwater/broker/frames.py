"""Cut a byte stream into frames: a 4-byte length, then so many bytes.

All connections receive into one buffer, so an idle one holds nothing; what is left of an unfinished small
frame is kept aside. A large frame gets a buffer of its own, filled by the socket directly, that grows only
as bytes arrive. A length that is not allowed is refused before anything is allocated for it.
"""

import struct
from typing import Final

from headwater.errors import InvalidRequest

RECEIVE_BYTES: Final = 64 << 10
FIRST_ALLOCATION_BYTES: Final = 2 * RECEIVE_BYTES
LARGEST_ORDINARY_BYTES: Final = 10 << 20
"""Only Produce carries bulk: other requests are far smaller, and decoding one costs many times its size."""

POOLED_BYTES: Final = 16 << 20
_HEAD: Final = struct.Struct(">ih")
PRODUCE_KEY: Final = 0


class BufferPool:
    """The receive buffer of all connections; large buffers for reuse: making one costs as filling it."""

    def __init__(self) -> None:
        self.receive = bytearray(RECEIVE_BYTES)
        """Used between `Frames.room` and `Frames.received`, in which nothing else runs."""
        self._free: list[bytearray] = []
        self._free_bytes = 0

    def take(self, size: int) -> bytearray:
        """Return a buffer for a frame of `size` bytes: one that is there, else the beginning of one."""
        for index, each in enumerate(self._free):
            if len(each) >= size:
                self._free_bytes -= len(each)
                return self._free.pop(index)
        return bytearray(min(size, FIRST_ALLOCATION_BYTES))

    def give(self, buffer: bytearray) -> None:
        if self._free_bytes + len(buffer) <= POOLED_BYTES:
            self._free.append(buffer)
            self._free_bytes += len(buffer)


class Frames:
    """The frames of one connection."""

    def __init__(self, max_request_bytes: int, pool: BufferPool) -> None:
        self._max_request_bytes = max_request_bytes
        self._pool = pool
        self._rest = b""
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
        rest = self._rest
        room = memoryview(self._pool.receive)
        room[: len(rest)] = rest
        return room[len(rest) :]

    def received(self, count: int) -> list[memoryview]:
        """Take note of `count` bytes in the room; returns the frames that are whole now."""
        if self._large is not None:
            self._large_filled += count
            return [self._finish_large()] if self._large_filled == self._large_size else []
        frames = []
        received = memoryview(self._pool.receive)[: len(self._rest) + count]
        position = 0
        while (size := self._size(received[position:])) is not None:
            end = position + 4 + size
            if end > len(received):
                if 4 + size > RECEIVE_BYTES:
                    self._start_large(size, received[position + 4 :])
                    position = len(received)
                break
            frames.append(memoryview(bytes(received[position + 4 : end])))
            self.held_bytes += size
            position = end
        self._rest = bytes(received[position:])
        return frames

    def done_with(self, frame: memoryview) -> None:
        """Give the memory of a frame back."""
        self.held_bytes -= len(frame)
        buffer = self._lent.pop(id(frame), None)
        frame.release()
        if buffer is not None:
            self._pool.give(buffer)

    def release(self) -> None:
        self._rest = b""
        self._large = None
        self._lent.clear()

    def _size(self, received: memoryview) -> int | None:
        """Return the length of the frame that begins here; None until enough is there to allow it."""
        if len(received) < 4:
            return None
        size = int.from_bytes(received[:4], "big", signed=True)
        if not 0 < size <= self._max_request_bytes:
            raise InvalidRequest(f"a request of {size} bytes is not allowed")
        if size > LARGEST_ORDINARY_BYTES:
            if len(received) < _HEAD.size:
                return None
            _, api_key = _HEAD.unpack_from(received)
            if api_key != PRODUCE_KEY:
                raise InvalidRequest(f"a request of {size} bytes to API {api_key} is not allowed")
        return size

    def _start_large(self, size: int, have: memoryview) -> None:
        self._large = self._pool.take(size)
        self._large[: len(have)] = have
        self._large_size = size
        self._large_filled = len(have)

    def _grow(self) -> None:
        """More of a large frame has really arrived: only now is more allocated."""
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
