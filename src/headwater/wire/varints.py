"""Unsigned varints (LEB128): lengths and tags of flexible messages."""


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
