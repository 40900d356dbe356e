"""Every message in every version: bytes that kio writes are read and written again unchanged.

kio is generated from Apache Kafka's own schemas, so it is the oracle for ours.
"""

import dataclasses
import datetime as dt
import importlib
import io
import pkgutil
import random
import types
import typing
import uuid

import pytest
from kio.serial import entity_writer

import headwater.wire.messages
from headwater.errors import InvalidRequest
from headwater.wire.codec import decode, encode_bytes
from headwater.wire.schema import Message

MODULES = [each.name for each in pkgutil.iter_modules(headwater.wire.messages.__path__)]


def messages() -> list[tuple[type[Message], str]]:
    found = []
    for module in MODULES:
        loaded = importlib.import_module(f"headwater.wire.messages.{module}")
        for each in vars(loaded).values():
            if isinstance(each, type) and issubclass(each, Message) and each is not Message:
                direction = "request" if each.__name__.endswith("Request") else "response"
                found.append((each, f"kio.schema.{module}.v{{}}.{direction}"))
    return found


CASES = [
    pytest.param(message, version, path.format(version), id=f"{message.__name__}-v{version}")
    for message, path in messages()
    for version in message.versions
]


@pytest.mark.parametrize(("message", "version", "path"), CASES)
def test_bytes_of_kafkas_schema_survive_a_round_trip(message, version, path):
    entity = getattr(importlib.import_module(path), message.__name__)
    for seed in range(4):
        written = kio_bytes(random_value(entity, random.Random(seed)))
        decoded = decode(message, version, memoryview(written))
        assert encode_bytes(decoded, version) == written


@pytest.mark.parametrize(("message", "version", "path"), CASES)
def test_cut_bytes_are_refused_and_never_crash(message, version, path):
    entity = getattr(importlib.import_module(path), message.__name__)
    written = kio_bytes(random_value(entity, random.Random(7)))
    for end in range(0, len(written), max(1, len(written) // 20)):
        with pytest.raises(InvalidRequest):
            decode(message, version, memoryview(written)[:end])


def kio_bytes(value) -> bytes:
    buffer = io.BytesIO()
    entity_writer(type(value))(buffer, value)
    return buffer.getvalue()


def random_value(entity, rng):
    hints = typing.get_type_hints(entity)
    return entity(
        **{
            each.name: random_field(hints[each.name], each.metadata, rng)
            for each in dataclasses.fields(entity)
        }
    )


def random_field(hint, metadata, rng):
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        if rng.random() < 0.3:
            return None
        inner = [each for each in typing.get_args(hint) if each is not types.NoneType]
        return random_field(inner[0], metadata, rng)
    if typing.get_origin(hint) is tuple:
        count = rng.choice([0, 1, 2, 130]) if metadata.get("kafka_type") else rng.randrange(3)
        return tuple(random_field(typing.get_args(hint)[0], metadata, rng) for _ in range(count))
    if dataclasses.is_dataclass(hint):
        return random_value(hint, rng)
    return random_primitive(metadata["kafka_type"], rng)


def random_primitive(kind, rng):
    sizes = {"int8": 7, "int16": 15, "int32": 31, "int64": 63, "uint16": 16, "uint32": 32}
    if kind in sizes:
        low = 0 if kind.startswith("u") else -(1 << sizes[kind])
        return rng.randrange(low, 1 << sizes[kind])
    match kind:
        case "bool":
            return rng.random() < 0.5
        case "string":
            return "".join(rng.choice("abc-é漢") for _ in range(rng.choice([0, 3, 200])))
        case "bytes" | "records":
            return rng.randbytes(rng.choice([0, 5, 300]))
        case "float64":
            return rng.random()
        case "uuid":
            return uuid.UUID(bytes=rng.randbytes(16))
        case "error_code":
            return importlib.import_module("kio.schema.errors").ErrorCode(rng.randrange(80))
        case "timedelta_i32" | "timedelta_i64":
            return dt.timedelta(milliseconds=rng.randrange(1 << 31))
        case "datetime_i64":
            return dt.datetime.fromtimestamp(rng.randrange(1 << 31), tz=dt.UTC)
    raise AssertionError(kind)
