r"""`-f` templates: `%k %v %o %p %t %d %D %h`, sizes `%K %V`, `%%`, and the escapes \n \t \r \0 \\.

A template is parsed once; a mistake in it is found before the first record is read.
"""

from collections.abc import Callable

from headwater.cli.record_time import iso_time
from headwater.client.record import Record, decode_text
from headwater.errors import InvalidRequest

Part = Callable[[Record], bytes]


def parse_template(text: str) -> Callable[[Record], bytes]:
    """A function from a record to what is printed for it."""
    parts = [_part(piece) for piece in _pieces(text)]
    return lambda record: b"".join(part(record) for part in parts)


def _pieces(text: str) -> list[str]:
    """Literal runs, and the two-character pieces that start with % or a backslash."""
    pieces: list[str] = []
    at = 0
    while at < len(text):
        width = 2 if text[at] in "%\\" else 1
        pieces.append(text[at : at + width])
        at += width
    return pieces


def _part(piece: str) -> Part:
    if piece.startswith("%"):
        verb = _VERBS.get(piece[1:])
        if verb is None:
            raise InvalidRequest(
                what=f"the template has an unknown verb {piece!r}",
                hint=f"there are {' '.join(f'%{name}' for name in _VERBS)}",
            )
        return verb
    if piece.startswith("\\"):
        escape = _ESCAPES.get(piece[1:])
        if escape is None:
            raise InvalidRequest(
                what=f"the template has an unknown escape {piece!r}",
                hint="there are \\n \\t \\r \\0 \\\\",
            )
        return lambda _: escape
    literal = piece.encode()
    return lambda _: literal


def _headers(record: Record) -> bytes:
    return ",".join(
        f"{name}={'' if value is None else decode_text(value)}" for name, value in record.headers
    ).encode("utf-8", "surrogateescape")


_VERBS: dict[str, Part] = {
    "k": lambda record: record.key_bytes or b"",
    "v": lambda record: record.raw_value or b"",
    "o": lambda record: b"%d" % record.offset,
    "p": lambda record: b"%d" % record.partition,
    "t": lambda record: record.topic.encode(),
    "d": lambda record: b"%d" % record.timestamp_ms,
    "D": lambda record: iso_time(record).encode(),
    "h": _headers,
    "K": lambda record: b"%d" % len(record.key_bytes or b""),
    "V": lambda record: b"%d" % len(record.raw_value or b""),
    "%": lambda _: b"%",
}

_ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}
