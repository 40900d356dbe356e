"""Message <-> bytes. For each (message, version) one encoder and one decoder are compiled on first use.

Runs of fixed-size fields become one `struct` call; record batches pass through untouched: the decoder
returns them as memoryviews, the encoder as parts of its own, so that a fetch can splice file ranges.
"""

import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from headwater.errors import InvalidRequest
from headwater.wire.schema import Field, Message, Struct

M = TypeVar("M", bound=Message)


class Spliced(Protocol):
    """Bytes that are not in memory yet: the encoder writes their length and passes them on."""

    def __len__(self) -> int: ...


Part: TypeAlias = bytes | memoryview | Spliced
Left: TypeAlias = list[int]
"""One number: how many more elements this message may have."""

Decoder: TypeAlias = Callable[[memoryview, int, Left], tuple[Any, int]]
Encoder: TypeAlias = Callable[[Any, Callable[[Part], None]], None]

_FORMATS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint16": "H",
    "uint32": "I",
    "float64": "d",
    "uuid": "16s",
}
MOST_ELEMENTS: Final = 100_000
"""In all arrays of one message together: an element of a byte or two costs up to a hundred once decoded."""

_MALFORMED = (IndexError, struct.error, UnicodeDecodeError, OverflowError, ValueError)


def decode(message: type[M], version: int, buffer: memoryview, position: int = 0) -> M:
    """Read one message; raises `InvalidRequest` for bytes that are not one."""
    try:
        run = _decoder(message, version, message.is_flexible_in(version))
        decoded, end = run(buffer, position, [MOST_ELEMENTS])
    except _MALFORMED as error:
        raise InvalidRequest(f"malformed {message.__name__} v{version}: {error}") from error
    if end > len(buffer):
        raise InvalidRequest(f"malformed {message.__name__} v{version}: it ends too early")
    return decoded  # type: ignore[no-any-return]


def encode(message: Message, version: int) -> list[Part]:
    """Write one message as parts that together are its bytes."""
    parts: list[Part] = []
    _encoder(type(message), version, message.is_flexible_in(version))(message, parts.append)
    return parts


def encode_bytes(message: Message, version: int) -> bytes:
    """Write one message that holds no spliced part."""
    return b"".join(encode(message, version))  # type: ignore[arg-type]


def uvarint(value: int) -> bytes:
    """Unsigned LEB128, as in every flexible message."""
    if value < 0x80:
        return _SMALL[value]
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_uvarint(buffer: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 28:
            raise ValueError("a varint runs over 5 bytes")


_SMALL = [bytes([value]) for value in range(0x80)]


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


@cache
def _decoder(cls: type[Struct], version: int, flexible: bool) -> Decoder:
    return _DecoderSource(cls, version, flexible=flexible).compile()


@cache
def _encoder(cls: type[Struct], version: int, flexible: bool) -> Encoder:
    return _EncoderSource(cls, version, flexible=flexible).compile()


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


class _Source:
    """Lines of Python being written for one struct in one version."""

    def __init__(self, cls: type[Struct], version: int, *, flexible: bool) -> None:
        self.cls = cls
        self.version = version
        self.flexible = flexible
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {
            "uv": uvarint,
            "ruv": read_uvarint,
            "checked": _checked,
            "counted": _counted,
        }
        present = [each for each in cls.fields if each.is_in(version)]
        self.plain = [each for each in present if each.tag is None]
        self.tagged = [each for each in present if each.tag is not None] if flexible else []

    def bind(self, value: Any, hint: str) -> str:
        name = f"{hint}{len(self.scope)}"
        self.scope[name] = value
        return name

    def write(self, line: str, depth: int = 1) -> None:
        self.lines.append("    " * depth + line)

    def fixed_runs(self) -> list[list[Field]]:
        """Group neighbouring fixed-size fields; any other field is a group of its own."""
        runs: list[list[Field]] = []
        for each in self.plain:
            if _is_fixed(each) and runs and _is_fixed(runs[-1][0]):
                runs[-1].append(each)
            else:
                runs.append([each])
        return runs

    def packer(self, fields: Sequence[Field]) -> struct.Struct:
        return struct.Struct(">" + "".join(_FORMATS[str(each.kind)] for each in fields))

    def finish(self, head: str) -> Any:
        source = "\n".join([head, *self.lines])
        exec(compile(source, f"<{self.cls.__name__} v{self.version}>", "exec"), self.scope)  # noqa: S102
        return self.scope["run"]


def _is_fixed(each: Field) -> bool:
    return isinstance(each.kind, str) and each.kind in _FORMATS


class _DecoderSource(_Source):
    def compile(self) -> Decoder:
        self.scope.update(new=self.cls.__new__, cls=self.cls)
        self.write("o = new(cls)")
        present = {each.name for each in self.plain}
        for each in self.cls.fields:
            if each.name not in present:
                self.write(f"o.{each.name} = {self.bind(each.default, 'default')}")
        for run in self.fixed_runs():
            if _is_fixed(run[0]):
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
            if kind in _FORMATS:
                self.primitive(kind, target, depth)
                return
            self.length("int16" if kind == "string" else "int32", each, target, depth)
            self.write("checked(n, b, p)", depth + 1)
            converted = {"string": "str(b[p:p + n], 'utf-8')", "bytes": "bytes(b[p:p + n])"}
            self.write(f"{target} = {converted.get(kind, 'b[p:p + n]')}", depth + 1)
            self.write("p += n", depth + 1)
        else:
            run = self.bind(_decoder(kind, self.version, self.flexible), "decode")
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
            packer = struct.Struct(">" + _FORMATS[fixed])
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
        if isinstance(kind, str) and kind in _FORMATS:
            size = struct.calcsize(_FORMATS[kind])
            unpack = self.bind(struct.unpack_from, "unpack")
            self.write(f"checked(n * {size}, b, p)", depth)
            repeat = (
                "[bytes(b[q:q + 16]) for q in range(p, p + n * 16, 16)]"
                if kind == "uuid"
                else f"list({unpack}(f'>{{n}}{_FORMATS[kind]}', b, p))"
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
            run = self.bind(_decoder(kind, self.version, self.flexible), "decode")
            self.write(f"item, p = {run}(b, p, left)", depth + 1)
            self.write("items.append(item)", depth + 1)

    def primitive(self, kind: str, target: str, depth: int) -> None:
        packer = struct.Struct(">" + _FORMATS[kind])
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


class _EncoderSource(_Source):
    def compile(self) -> Encoder:
        for run in self.fixed_runs():
            if _is_fixed(run[0]):
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
            run = self.bind(_encoder(kind, self.version, self.flexible), "encode")
            if each.nullable is not None and each.tag is None:
                self.write(f"if {source} is None: w(b'\\xff')", depth)
                self.write(f"else: w(b'\\x01'); {run}({source}, w)", depth)
            else:
                self.write(f"{run}({source}, w)", depth)
            return
        if isinstance(kind, str) and kind in _FORMATS:
            pack = self.bind(struct.Struct(">" + _FORMATS[kind]).pack, "pack")
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
        return b"\0" if self.flexible else struct.pack(">" + _FORMATS[fixed], -1)

    def length(self, fixed: str, depth: int) -> None:
        if self.flexible:
            self.write("w(uv(len(v) + 1))", depth)
        else:
            pack = self.bind(struct.Struct(">" + _FORMATS[fixed]).pack, "pack")
            self.write(f"w({pack}(len(v)))", depth)

    def array(self, kind: str | type[Struct], depth: int) -> None:
        self.length("int32", depth)
        if isinstance(kind, type):
            run = self.bind(_encoder(kind, self.version, self.flexible), "encode")
            self.write(f"for item in v: {run}(item, w)", depth)
        elif kind == "uuid":
            self.write("for item in v: w(item)", depth)
        elif kind in _FORMATS:
            pack = self.bind(struct.pack, "pack")
            self.write(f"w({pack}(f'>{{len(v)}}{_FORMATS[kind]}', *v))", depth)
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
