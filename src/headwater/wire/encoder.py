"""Messages to bytes: one encoder per (struct, version), compiled on first use.

Record batches stay parts of their own and are never copied here. An array may hold structs that were
encoded before (`Encoded`): what many clients ask for again and again is encoded once.
"""

import struct
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

from headwater.wire.schema import Field, Struct
from headwater.wire.source import FORMATS, Source, is_fixed
from headwater.wire.varints import uvarint


class Deferred:
    """Bytes that are fetched when their turn to be sent comes; only their number is known before."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size


Part: TypeAlias = bytes | memoryview | Deferred
Encoder: TypeAlias = Callable[[Any, Callable[[Part], None]], None]


class Encoded(bytes):
    """The bytes of a struct, to be put into an array in its place."""


def at_hand(part: Part) -> bytes | memoryview:
    """The bytes of a part that is not deferred."""
    assert not isinstance(part, Deferred)
    return part


@cache
def encoder(cls: type[Struct], version: int, flexible: bool) -> Encoder:
    return _EncoderSource(cls, version, flexible=flexible).compile()


class _EncoderSource(Source):
    def compile(self) -> Encoder:
        self.scope.update(uv=uvarint, Encoded=Encoded)
        for run in self.fixed_runs():
            if is_fixed(run[0]):
                values = ", ".join(f"o.{each.name}" for each in run)
                self.write(f"w({self.bind(self.packer(run).pack, 'pack')}({values}))")
            else:
                self.value(run[0], f"o.{run[0].name}", 1)
        if self.flexible:
            self.tags()
        if not self.lines:
            self.write("pass")
        made: Encoder = self.finish("def run(o, w):")
        return made

    def value(self, each: Field, source: str, depth: int) -> None:
        kind = each.kind
        if isinstance(kind, type):
            run = self.bind(encoder(kind, self.version, self.flexible), "encode")
            if each.nullable is not None and each.tag is None:
                self.write(f"if {source} is None: w(b'\\xff')", depth)
                self.write(f"else: w(b'\\x01'); {run}({source}, w)", depth)
            else:
                self.write(f"{run}({source}, w)", depth)
            return
        if isinstance(kind, str) and kind in FORMATS:
            pack = self.bind(struct.Struct(">" + FORMATS[kind]).pack, "pack")
            self.write(f"w({pack}({source}))", depth)
            return
        self.write(f"v = {source}", depth)
        if each.is_nullable_in(self.version):
            null = self.null("int16" if kind == "string" else "int32")
            self.write(f"if v is None: w({null!r})", depth)
            self.write("else:", depth)
            depth += 1
        if isinstance(kind, list):
            self.array(kind[0], depth)
        else:
            if kind == "string":
                self.write("v = v.encode()", depth)
            self.length("int16" if kind == "string" else "int32", depth)
            self.write("w(v)", depth)

    def null(self, fixed: str) -> bytes:
        return b"\0" if self.flexible else struct.pack(">" + FORMATS[fixed], -1)

    def length(self, fixed: str, depth: int) -> None:
        if self.flexible:
            self.write("w(uv(len(v) + 1))", depth)
        else:
            pack = self.bind(struct.Struct(">" + FORMATS[fixed]).pack, "pack")
            self.write(f"w({pack}(len(v)))", depth)

    def array(self, kind: str | type[Struct], depth: int) -> None:
        self.length("int32", depth)
        if isinstance(kind, type):
            run = self.bind(encoder(kind, self.version, self.flexible), "encode")
            self.write("for item in v:", depth)
            self.write("if item.__class__ is Encoded: w(item)", depth + 1)
            self.write(f"else: {run}(item, w)", depth + 1)
        elif kind == "uuid":
            self.write("for item in v: w(item)", depth)
        elif kind in FORMATS:
            pack = self.bind(struct.pack, "pack")
            self.write(f"w({pack}(f'>{{len(v)}}{FORMATS[kind]}', *v))", depth)
        else:
            self.write("for item in v:", depth)
            self.value(Field(kind, None, 0, 0, None, None), "item", depth + 1)

    def tags(self) -> None:
        if not self.tagged:
            self.write("w(b'\\0')")
            return
        self.write("tags = []")
        for each in sorted(self.tagged, key=lambda each: each.tag or 0):
            default = self.bind(each.default, "default")
            is_set = "" if isinstance(each.kind, list) else f" != {default}"
            self.write(f"if o.{each.name}{is_set}:")
            self.write("inner = []; outer = w; w = inner.append", 2)
            self.value(each, f"o.{each.name}", 2)
            self.write("w = outer; data = b''.join(inner)", 2)
            self.write(f"tags.append({uvarint(each.tag or 0)!r} + uv(len(data)) + data)", 2)
        self.write("w(uv(len(tags)))")
        self.write("for item in tags: w(item)")
