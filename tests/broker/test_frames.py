"""Frames out of a byte stream, however it is cut; and what an unfinished one may cost."""

import struct
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.broker.frames import (
    LARGEST_ORDINARY_BYTES,
    POOLED_BYTES,
    RECEIVE_BYTES,
    BufferPool,
    Frames,
)
from headwater.errors import InvalidRequest

LARGEST = 100 << 20
PRODUCE = b"\x00\x00"
METADATA = b"\x00\x03"


def feed(frames: Frames, data: bytes, step: int = 1 << 30) -> list[bytes]:
    """Deliver bytes as a socket does, at most `step` at a time; returns the frames."""
    found = []
    view = memoryview(data)
    while view:
        room = frames.room()
        count = min(len(room), len(view), step)
        room[:count] = view[:count]
        view = view[count:]
        for frame in frames.received(count):
            found.append(bytes(frame))
            frames.done_with(frame)
    return found


def framed(*bodies: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(body)) + body for body in bodies)


@given(
    sizes=st.lists(
        st.one_of(
            st.integers(1, 100),
            st.integers(RECEIVE_BYTES - 8, RECEIVE_BYTES + 8),
            st.integers(1, 400_000),
        ),
        max_size=6,
    ),
    step=st.sampled_from([1 << 30, RECEIVE_BYTES, 65_537, 4_099, 997]),
)
def test_every_cut_of_the_stream_gives_the_same_frames(sizes: list[int], step: int) -> None:
    bodies = [bytes([index + 1]) * size for index, size in enumerate(sizes)]
    frames = Frames(LARGEST, BufferPool())
    assert feed(frames, framed(*bodies), step) == bodies
    assert frames.held_bytes == 0


def test_a_stream_of_single_bytes_gives_the_same_frames() -> None:
    bodies = [b"a", b"bc" * 700, b"d" * (RECEIVE_BYTES + 1)]
    assert feed(Frames(LARGEST, BufferPool()), framed(*bodies), step=1) == bodies


def test_connections_share_the_receive_buffer_and_not_their_bytes() -> None:
    pool = BufferPool()
    first, second = Frames(LARGEST, pool), Frames(LARGEST, pool)
    assert feed(first, framed(b"one")[:5]) == []
    assert feed(second, framed(b"two")[:6]) == []
    assert feed(first, framed(b"one")[5:]) == [b"one"]
    assert feed(second, framed(b"two")[6:]) == [b"two"]


@pytest.mark.parametrize("length", [0, -1, -(2**31), LARGEST + 1, 2**31 - 1])
def test_a_length_that_is_not_allowed_is_refused_before_anything_is_allocated(length: int) -> None:
    frames = Frames(LARGEST, BufferPool())
    tracemalloc.start()
    try:
        with pytest.raises(InvalidRequest):
            feed(frames, struct.pack(">i", length))
        assert tracemalloc.get_traced_memory()[1] < 20_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("cut", [4, 5, 6, 100])
def test_only_produce_may_be_large_however_its_head_arrives(cut: int) -> None:
    size = LARGEST_ORDINARY_BYTES + 1
    head = struct.pack(">i", size) + METADATA + bytes(94)
    frames = Frames(LARGEST, BufferPool())
    with pytest.raises(InvalidRequest, match="API 3"):
        feed(frames, head[:cut]) or feed(frames, head[cut:] + bytes(100))


def test_a_large_produce_is_whole() -> None:
    body = PRODUCE + bytes(range(256)) * 80_000
    assert len(body) > LARGEST_ORDINARY_BYTES
    assert feed(Frames(LARGEST, BufferPool()), framed(body)) == [body]


@pytest.mark.parametrize("sent", [0, 10, 1_000, 100_000, 1_000_000, 5_000_000])
def test_half_a_frame_costs_no_more_than_a_small_multiple_of_what_was_sent(sent: int) -> None:
    pool = BufferPool()
    head = struct.pack(">i", 50 << 20) + PRODUCE
    data = head + bytes(sent)
    tracemalloc.start()
    try:
        frames = Frames(LARGEST, pool)
        feed(frames, data)
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 2 * sent + 2 * RECEIVE_BYTES + 10_000
    assert peak < 4 * sent + 4 * RECEIVE_BYTES + 10_000


def test_the_pool_keeps_a_bounded_number_of_bytes() -> None:
    pool = BufferPool()
    for _ in range(10):
        pool.give(bytearray(5 << 20))
    kept = [pool.take(5 << 20) for _ in range(10)]
    assert sum(len(each) for each in kept if len(each) == 5 << 20) <= POOLED_BYTES


def test_a_buffer_is_used_again() -> None:
    pool = BufferPool()
    frames = Frames(LARGEST, pool)
    feed(frames, framed(bytes([1]) * 3_000_000))
    tracemalloc.start()
    try:
        feed(frames, framed(bytes([2]) * 2_900_000)[:1_000_000])
        assert tracemalloc.get_traced_memory()[0] < 100_000
    finally:
        tracemalloc.stop()
