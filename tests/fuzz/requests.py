"""Valid requests of every API and version, full of names that exist, so that mutants get far."""

import struct
from collections.abc import Mapping
from random import Random
from typing import Any, Final

from headwater.broker.dispatch import APIS
from headwater.wire.codec import encode_bytes
from headwater.wire.schema import Message, Struct

CASES: Final = [(api.request, version) for api in APIS.values() for version in api.request.versions]
WAITING: Final = frozenset({"FetchRequest", "JoinGroupRequest", "SyncGroupRequest"})
"""Requests whose answer may rightly take its time."""

_INTEGERS: Final = {
    "int8": 1 << 7,
    "int16": 1 << 15,
    "int32": 1 << 31,
    "int64": 1 << 63,
    "uint16": 1 << 16,
    "uint32": 1 << 32,
}


class Writer:
    """Writes random requests. `known` gives values by field name, for example topics that exist."""

    def __init__(self, rng: Random, known: Mapping[str, list[Any]]) -> None:
        self._rng = rng
        self._known = known

    def frame(self, request: type[Message], version: int, correlation_id: int) -> bytes:
        """A request with its header and without its length."""
        head = struct.pack(">hhih", request.api_key, version, correlation_id, 4) + b"fuzz"
        if request.is_flexible_in(version):
            head += b"\0"
        return head + encode_bytes(self.message(request, version), version)

    def message(self, cls: type[Struct], version: int) -> Any:
        values = {
            each.name: self._value(each.name, each.kind, nullable=each.is_nullable_in(version))
            if not isinstance(each.kind, type)
            else self._struct(each.kind, version, nullable=each.nullable is not None)
            for each in cls.fields
            if each.is_in(version) and not isinstance(each.kind, list)
        }
        for each in cls.fields:
            if each.is_in(version) and isinstance(each.kind, list):
                is_null = each.is_nullable_in(version) and self._rng.random() < 0.1
                values[each.name] = (
                    None if is_null else self._array(each.name, each.kind[0], version)
                )
        return cls(**values)

    def _array(self, name: str, kind: Any, version: int) -> list[Any]:
        count = self._rng.choice((0, 1, 1, 1, 2, 3))
        if isinstance(kind, str):
            return [self._value(name, kind, nullable=False) for _ in range(count)]
        return [self.message(kind, version) for _ in range(count)]

    def _struct(self, kind: type[Struct], version: int, *, nullable: bool) -> Any:
        if nullable and self._rng.random() < 0.3:
            return None
        return self.message(kind, version)

    def _value(self, name: str, kind: str, *, nullable: bool) -> Any:
        rng = self._rng
        if nullable and rng.random() < 0.1:
            return None
        if name in self._known and rng.random() < 0.9:
            return rng.choice(self._known[name])
        if kind in _INTEGERS:
            limit = _INTEGERS[kind]
            low = 0 if kind.startswith("u") else -limit
            return rng.choice((0, 0, 1, 1, 2, 3, 100, low, limit - 1))
        match kind:
            case "bool":
                return rng.random() < 0.5
            case "float64":
                return rng.choice((0.0, -1.0, 1e300, float("inf"), float("nan")))
            case "uuid":
                return rng.randbytes(16)
            case "string":
                return rng.choice(("", "a", "fuzz", "é漢" * 40, "x" * 300))
        return rng.randbytes(rng.choice((0, 1, 30)))
