"""The codecs a record batch may use. Output is bounded, so that a small batch cannot fill the memory."""

from typing import Final

NONE: Final = 0
GZIP: Final = 1
SNAPPY: Final = 2
LZ4: Final = 3
ZSTD: Final = 4
NAMES: Final = {NONE: "none", GZIP: "gzip", SNAPPY: "snappy", LZ4: "lz4", ZSTD: "zstd"}

LARGEST_OUTPUT_BYTES: Final = 256 * 1024 * 1024


def decompress(codec: int, data: memoryview | bytes) -> bytes | memoryview:
    """Return the records of a batch in plain form; raises `Corruption` if they cannot be read."""
    if codec == NONE:
        return data
    from headwater.wire import codecs  # noqa: PLC0415  loading it is a tenth of the broker's start

    return codecs.decompress(codec, data)


def compress(codec: int, data: bytes) -> bytes:
    """Return `data` as the body of a batch with this codec."""
    if codec == NONE:
        return data
    from headwater.wire import codecs  # noqa: PLC0415

    return codecs.compress(codec, data)
