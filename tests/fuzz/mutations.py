"""Ways to spoil bytes, from one flipped bit to noise."""

import struct
from collections.abc import Callable
from random import Random
from typing import Final

LENGTHS: Final = (0, 1, -1, -2, 127, 128, 1 << 14, 100_000, 2**31 - 1, -(2**31))
VARINTS: Final = (
    b"\x00",
    b"\x01",
    b"\x7f",
    b"\x80\x01",
    b"\xff\xff\xff\xff\x07",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\x7f",
    b"\xff" * 12,
)


def flip_bits(rng: Random, data: bytearray) -> None:
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def cut(rng: Random, data: bytearray) -> None:
    del data[rng.randrange(len(data)) :]


def drop(rng: Random, data: bytearray) -> None:
    start = rng.randrange(len(data))
    del data[start : start + rng.choice((1, 2, 4, 16))]


def insert(rng: Random, data: bytearray) -> None:
    start = rng.randrange(len(data) + 1)
    data[start:start] = rng.randbytes(rng.choice((1, 2, 4, 100)))


def repeat(rng: Random, data: bytearray) -> None:
    start = rng.randrange(len(data))
    piece = data[start : start + rng.choice((1, 4, 30, 200))]
    data[start:start] = piece * rng.choice((1, 2, 50))


def change_length(rng: Random, data: bytearray) -> None:
    packer = rng.choice((">i", ">h", ">q", ">b"))
    size = struct.calcsize(packer)
    limit = 1 << (8 * size - 1)
    value = max(-limit, min(limit - 1, rng.choice(LENGTHS)))
    start = rng.randrange(len(data))
    data[start : start + size] = struct.pack(packer, value)


def change_varint(rng: Random, data: bytearray) -> None:
    start = rng.randrange(len(data))
    data[start : start + 1] = rng.choice(VARINTS)


def noise(rng: Random, data: bytearray) -> None:
    start = rng.randrange(len(data))
    data[start:] = rng.randbytes(rng.randrange(200))


MUTATIONS: Final[tuple[Callable[[Random, bytearray], None], ...]] = (
    flip_bits,
    flip_bits,
    cut,
    drop,
    insert,
    repeat,
    change_length,
    change_length,
    change_varint,
    change_varint,
    noise,
)


def mutated(rng: Random, data: bytes, start: int = 0) -> bytes:
    """Return `data` spoilt once or a few times, from `start` on."""
    tail = bytearray(data[start:])
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if tail:
            rng.choice(MUTATIONS)(rng, tail)
    return data[:start] + bytes(tail)
