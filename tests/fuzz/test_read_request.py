"""A frame is a request or it is refused: nothing else may come out, and not at any price."""

import contextlib
import struct
import tracemalloc
from random import Random

import pytest

from fuzz.campaign import seeds
from fuzz.mutations import mutated
from fuzz.requests import CASES, Writer
from headwater.broker.requests import Request, read_request
from headwater.errors import InvalidRequest
from headwater.wire.decoder import MOST_ELEMENTS
from headwater.wire.schema import Message
from headwater.wire.varints import uvarint

IDS = [f"{request.__name__}-v{version}" for request, version in CASES]


@pytest.mark.parametrize(("request_type", "version"), CASES, ids=IDS)
def test_a_mutated_frame_is_read_or_refused(request_type: type[Message], version: int) -> None:
    for seed in seeds(60):
        rng = Random(f"{seed} {request_type.__name__} {version}")
        frame = Writer(rng, {}).frame(request_type, version, seed)
        assert isinstance(read_request(memoryview(frame)), Request)
        spoilt = mutated(rng, frame, start=rng.choice((0, 0, 10, 14)))
        try:
            read_request(memoryview(spoilt))
        except InvalidRequest:
            pass
        except Exception as error:
            raise AssertionError(f"seed {seed}: {spoilt!r}") from error


@pytest.mark.parametrize("seed", [0])
def test_noise_is_read_or_refused(seed: int) -> None:
    for each in seeds(3000):
        rng = Random(f"noise {seed} {each}")
        frame = rng.randbytes(rng.randrange(300))
        with contextlib.suppress(InvalidRequest):
            read_request(memoryview(frame))


MANY = 3_000_000
"""Elements of one or two bytes; with fewer than 10 MiB of them a frame is let in."""


def header(api_key: int, version: int, *, is_flexible: bool) -> bytes:
    return struct.pack(">hhih", api_key, version, 1, -1) + (b"\0" if is_flexible else b"")


AMPLIFIED = {
    "strings": header(42, 2, is_flexible=True) + uvarint(MANY + 1) + b"\x01" * MANY + b"\0",
    "structs": header(3, 1, is_flexible=False) + struct.pack(">i", MANY) + b"\0\0" * MANY,
    "flexible structs": header(75, 0, is_flexible=True) + uvarint(MANY + 1) + b"\x01\0" * MANY,
    "nested arrays": header(2, 10, is_flexible=True)
    + struct.pack(">ib", -1, 0)
    + uvarint(2_001)
    + (b"\x01" + uvarint(1_001) + (bytes(16) + b"\0") * 1_000 + b"\0") * 100,
    "integers": header(21, 1, is_flexible=False) + struct.pack(">i", 2_000_000) + bytes(2_000_000),
    "tags in the header": header(3, 12, is_flexible=False) + uvarint(MANY) + b"\0\0" * MANY,
    "tags in the body": header(18, 3, is_flexible=True)
    + b"\x01\x01"
    + uvarint(MANY)
    + b"\x05\0" * MANY,
}


@pytest.mark.parametrize("frame", AMPLIFIED.values(), ids=AMPLIFIED)
def test_many_tiny_elements_cost_a_bounded_amount_of_memory(frame: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(InvalidRequest):
            read_request(memoryview(frame))
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()


def test_as_many_elements_as_are_allowed_are_read() -> None:
    names = b"\0\x01x" * MOST_ELEMENTS
    frame = header(3, 1, is_flexible=False) + struct.pack(">i", MOST_ELEMENTS) + names
    tracemalloc.start()
    try:
        request = read_request(memoryview(frame))
        assert len(request.message.topics) == MOST_ELEMENTS
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()
