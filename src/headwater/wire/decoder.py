"""Bytes to messages: one decoder per (struct, version), compiled on first use.

Record batches are returned as memoryviews of the request. No length is believed before it is compared with
what was sent, and no message may have so many elements that decoding it costs many times its size.
"""

import struct
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeAlias

from headwater.wire.schema import Field, Struct
from headwater.wire.source import FORMATS, Source, is_fixed
from headwater.wire.varints import read_uvarint

Left: TypeAlias = list[int]
"""One number: how many more elements this message may have."""

Decoder: TypeAlias = Callable[[memoryview, int, Left], tuple[Any, int]]

MOST_ELEMENTS: Final = 100_000
"""In all arrays of one message together: an element of a byte or two costs up to a hundred once decoded."""


@cache
def decoder(cls: type[Struct], version: int, flexible: bool) -> Decoder:
    return _DecoderSource(cls, version, flexible=flexible).compile()


def skip_tags(buffer: memoryview, position: int) -> int:
    """Pass over a tagged-field section of which no tag is known."""
    count, position = read_uvarint(buffer, position)
    for _ in range(_counted(count, buffer, position, [MOST_ELEMENTS])):
        _, position = read_uvarint(buffer, position)
        size, position = read_uvarint(buffer, position)
        position += size
        if position > len(buffer):
            raise ValueError("a tagged field runs over the end")
    return position


def _checked(size: int, buffer: memoryview, position: int) -> int:
    """Return a length that cannot make us allocate more than was sent."""
    if size < 0 or size > len(buffer) - position:
        raise ValueError(f"a length of {size} runs over the end")
    return size


def _counted(count: int, buffer: memoryview, position: int, left: Left) -> int:
    """Return a number of elements that cannot make us allocate many times what was sent."""
    left[0] -= _checked(count, buffer, position)
    if left[0] < 0:
        raise ValueError(f"more than {MOST_ELEMENTS} elements")
    return count


class _DecoderSource(Source):
    def compile(self) -> Decoder:
        self.scope.update(new=self.cls.__new__, cls=self.cls)
        self.scope.update(ruv=read_uvarint, checked=_checked, counted=_counted)
        self.write("o = new(cls)")
        present = {each.name for each in self.plain}
        for each in self.cls.fields:
            if each.name not in present:
                self.write(f"o.{each.name} = {self.bind(each.default, 'default')}")
        for run in self.fixed_runs():
            if is_fixed(run[0]):
                packer = self.packer(run)
                targets = "".join(f"o.{each.name}, " for each in run)
                self.write(f"{targets}= {self.bind(packer.unpack_from, 'unpack')}(b, p)")
                self.write(f"p += {packer.size}")
            else:
                self.value(run[0], f"o.{run[0].name}", 1)
        if self.flexible:
            self.tags()
        self.write("return o, p")
        made: Decoder = self.finish("def run(b, p, left):")
        return made

    def value(self, each: Field, target: str, depth: int) -> None:
        kind = each.kind
        if isinstance(kind, list):
            self.length("int32", each, target, depth)
            self.array(kind[0], target, depth + 1)
        elif isinstance(kind, str):
            if kind in FORMATS:
                self.primitive(kind, target, depth)
                return
            self.length("int16" if kind == "string" else "int32", each, target, depth)
            self.write("checked(n, b, p)", depth + 1)
            # As Kafka: some clients keep bytes of their own in a string (metadata of a commit).
            text = "str(b[p:p + n], 'utf-8', 'replace')"
            converted = {"string": text, "bytes": "bytes(b[p:p + n])"}
            self.write(f"{target} = {converted.get(kind, 'b[p:p + n]')}", depth + 1)
            self.write("p += n", depth + 1)
        else:
            run = self.bind(decoder(kind, self.version, self.flexible), "decode")
            if each.nullable is not None and each.tag is None:
                self.write("p += 1", depth)
                self.write(f"if b[p - 1] > 127: {target} = None", depth)
                self.write(f"else: {target}, p = {run}(b, p, left)", depth)
            else:
                self.write(f"{target}, p = {run}(b, p, left)", depth)

    def length(self, fixed: str, each: Field, target: str, depth: int) -> None:
        """Read a length into n; what follows is written inside an `else`."""
        if self.flexible:
            self.write("n = b[p]; p += 1", depth)
            self.write("if n > 127: n, p = ruv(b, p - 1)", depth)
            self.write("n -= 1", depth)
        else:
            packer = struct.Struct(">" + FORMATS[fixed])
            self.write(f"(n,) = {self.bind(packer.unpack_from, 'unpack')}(b, p)", depth)
            self.write(f"p += {packer.size}", depth)
        self.write("if n == -1:", depth)
        if each.is_nullable_in(self.version):
            self.write(f"{target} = None", depth + 1)
        else:
            self.write(f"raise ValueError('{each.name} is null')", depth + 1)
        self.write("else:", depth)

    def array(self, kind: str | type[Struct], target: str, depth: int) -> None:
        self.write("counted(n, b, p, left)", depth)
        if isinstance(kind, str) and kind in FORMATS:
            size = struct.calcsize(FORMATS[kind])
            unpack = self.bind(struct.unpack_from, "unpack")
            self.write(f"checked(n * {size}, b, p)", depth)
            repeat = (
                "[bytes(b[q:q + 16]) for q in range(p, p + n * 16, 16)]"
                if kind == "uuid"
                else f"list({unpack}(f'>{{n}}{FORMATS[kind]}', b, p))"
            )
            self.write(f"{target} = {repeat}", depth)
            self.write(f"p += n * {size}", depth)
            return
        self.write(f"{target} = items = []", depth)
        self.write("for _ in range(n):", depth)
        element = Field(kind, None, 0, 0, None, None)
        if isinstance(kind, str):
            self.value(element, "item", depth + 1)
            self.write("items.append(item)", depth + 1)
        else:
            run = self.bind(decoder(kind, self.version, self.flexible), "decode")
            self.write(f"item, p = {run}(b, p, left)", depth + 1)
            self.write("items.append(item)", depth + 1)

    def primitive(self, kind: str, target: str, depth: int) -> None:
        packer = struct.Struct(">" + FORMATS[kind])
        self.write(f"({target},) = {self.bind(packer.unpack_from, 'unpack')}(b, p)", depth)
        self.write(f"p += {packer.size}", depth)

    def tags(self) -> None:
        self.write("count = b[p]; p += 1")
        self.write("if count:")
        self.write("count, p = ruv(b, p - 1)", 2)
        self.write("for _ in range(counted(count, b, p, left)):", 2)
        self.write("tag, p = ruv(b, p)", 3)
        self.write("size, p = ruv(b, p)", 3)
        self.write("after = p + checked(size, b, p)", 3)
        for each in self.tagged:
            self.write(f"if tag == {each.tag}:", 3)
            self.value(each, f"o.{each.name}", 4)
        self.write("p = after", 3)
