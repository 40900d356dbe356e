"""Message <-> bytes, in every version of every message (`decoder.py`, `encoder.py`)."""

import struct
from typing import Final, TypeVar

from headwater.errors import InvalidRequest
from headwater.wire.decoder import MOST_ELEMENTS, decoder
from headwater.wire.encoder import Encoded, Part, at_hand, encoder
from headwater.wire.schema import Message, Struct

M = TypeVar("M", bound=Message)

_MALFORMED: Final = (IndexError, struct.error, OverflowError, ValueError)


def decode(message: type[M], version: int, buffer: memoryview, position: int = 0) -> M:
    """Read one message; raises `InvalidRequest` for bytes that are not one."""
    try:
        run = decoder(message, version, message.is_flexible_in(version))
        decoded, end = run(buffer, position, [MOST_ELEMENTS])
    except _MALFORMED as error:
        raise InvalidRequest(f"malformed {message.__name__} v{version}: {error}") from error
    if end > len(buffer):
        raise InvalidRequest(f"malformed {message.__name__} v{version}: it ends too early")
    return decoded  # type: ignore[no-any-return]


def encode(message: Message, version: int) -> list[Part]:
    """Write one message as parts that together are its bytes."""
    parts: list[Part] = []
    encoder(type(message), version, message.is_flexible_in(version))(message, parts.append)
    return parts


def encode_bytes(message: Message, version: int) -> bytes:
    """Write one message as one piece."""
    return b"".join(map(at_hand, encode(message, version)))


def encode_part(part: Struct, message: type[Message], version: int) -> Encoded:
    """Write one struct as it stands in an array of `message`, to be used there many times."""
    parts: list[Part] = []
    encoder(type(part), version, message.is_flexible_in(version))(part, parts.append)
    return Encoded(b"".join(map(at_hand, parts)))
