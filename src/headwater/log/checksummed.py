"""The frame around each small file of the log: a bit flip or a cut is found, never believed.

    file := magic (4 bytes) version (1 byte) length (uint32) payload crc32c (uint32)

The checksum covers everything before it. See docs/formats/.
"""

import struct
from typing import Final

from headwater.errors import Corruption
from headwater.wire.checksum import crc32c

_HEAD: Final = struct.Struct(">4sBI")
_CRC: Final = struct.Struct(">I")


def wrap(magic: bytes, payload: bytes, version: int = 1) -> bytes:
    body = _HEAD.pack(magic, version, len(payload)) + payload
    return body + _CRC.pack(crc32c(body))


def unwrap(magic: bytes, data: bytes, version: int = 1) -> bytes:
    """Return the payload; raises `Corruption` for anything that `wrap` did not write."""
    if len(data) < _HEAD.size + _CRC.size:
        raise Corruption(f"a {magic.decode()} file is cut short")
    found, found_version, length = _HEAD.unpack_from(data)
    end = _HEAD.size + length
    if found != magic or len(data) != end + _CRC.size:
        raise Corruption(f"not a whole {magic.decode()} file")
    if crc32c(data[:end]) != _CRC.unpack_from(data, end)[0]:
        raise Corruption(f"a {magic.decode()} file fails its checksum")
    if found_version != version:
        raise Corruption(
            f"a {magic.decode()} file has version {found_version}, this build reads {version}",
            hint="it was written by a newer Headwater",
        )
    return data[_HEAD.size : end]
