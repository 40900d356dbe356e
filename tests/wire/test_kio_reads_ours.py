"""What we write, kio reads: every message in every version, full of edge values."""

import importlib
import io
from random import Random
from typing import Any

import pytest
from kio.serial import entity_reader, entity_writer

from headwater.wire.codec import decode, encode_bytes
from headwater.wire.schema import Field, Message, Struct
from wire.test_messages_match_kio import messages

CASES = [
    pytest.param(message, version, path.format(version), id=f"{message.__name__}-v{version}")
    for message, path in messages()
    for version in message.versions
]
INTEGERS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint16": 16, "uint32": 32}
TEXTS = ("", "a", "é漢🎉", "x" * 127, "x" * 128, "y" * 20_000)
BLOBS = (b"", b"\x00", bytes(127), bytes(16_384))


@pytest.mark.parametrize(("message", "version", "path"), CASES)
def test_kio_reads_what_we_write(message: type[Message], version: int, path: str) -> None:
    entity = getattr(importlib.import_module(path), message.__name__)
    for seed in range(6):
        value = random_struct(message, version, Random(f"{seed} {message.__name__} {version}"))
        written = encode_bytes(value, version)
        read, size = entity_reader(entity)(written, 0)
        assert size == len(written)
        again = io.BytesIO()
        entity_writer(entity)(again, read)
        assert again.getvalue() == written
        assert encode_bytes(decode(message, version, memoryview(written)), version) == written


def random_struct(cls: type[Struct], version: int, rng: Random) -> Any:
    return cls(
        **{
            each.name: random_value(each, version, rng)
            for each in cls.fields
            if each.is_in(version)
        }
    )


def random_value(each: Field, version: int, rng: Random) -> Any:
    is_nullable = each.is_nullable_in(version)
    if isinstance(each.kind, type):
        is_absent = each.default is None and rng.random() < 0.5
        return None if is_absent else random_struct(each.kind, version, rng)
    if is_nullable and rng.random() < 0.3:
        return None
    if isinstance(each.kind, list):
        kind = each.kind[0]
        count = rng.choice((0, 1, 2, 3, 130)) if isinstance(kind, str) else rng.choice((0, 1, 2))
        if isinstance(kind, str):
            return [primitive(kind, each.name, rng) for _ in range(count)]
        return [random_struct(kind, version, rng) for _ in range(count)]
    return primitive(each.kind, each.name, rng)


def primitive(kind: str, name: str, rng: Random) -> Any:
    if name.endswith("error_code"):
        return rng.choice((0, 1, 3, 80, -1))
    if any(part in name for part in ("time", "_ms", "timestamp")) and kind in INTEGERS:
        return rng.choice((0, 1, 1000, 2**31 - 1000))  # kio makes datetimes of these, in seconds.
    if kind in INTEGERS:
        bits = INTEGERS[kind]
        low, high = (
            (0, 2**bits - 1) if kind.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        )
        return rng.choice((low, high, 0, 1, high - 1, rng.randint(low, high)))
    match kind:
        case "bool":
            return rng.random() < 0.5
        case "float64":
            return rng.choice((0.0, -1.5, 1e300, float("inf")))
        case "uuid":
            return rng.choice((bytes(16), rng.randbytes(16)))
        case "string":
            return rng.choice(TEXTS)
    return rng.choice(BLOBS)
