"""Compress and decompress: the functions behind `compression`, with the library that does the work."""

import struct

import cramjam

from headwater.errors import Corruption, InvalidRequest
from headwater.wire.compression import GZIP, LARGEST_OUTPUT_BYTES, LZ4, NAMES, SNAPPY, ZSTD

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER_SIZE = 16
_CHUNK_SIZE = struct.Struct(">I")
_NO_ROOM = "failed to write whole buffer"
"""What Rust's standard library says when the output does not fit."""


def decompress(codec: int, data: memoryview | bytes) -> bytes | memoryview:
    try:
        if codec == SNAPPY:
            return _snappy(bytes(data))
        if codec == GZIP:
            return _bounded(cramjam.gzip, data)
        if codec == LZ4:
            return _bounded(cramjam.lz4, data)
        if codec == ZSTD:
            return _bounded(cramjam.zstd, data)
    except (cramjam.DecompressionError, struct.error) as error:
        raise Corruption(f"a {NAMES[codec]} batch cannot be decompressed: {error}") from error
    raise InvalidRequest(f"unknown compression codec {codec}")


def compress(codec: int, data: bytes) -> bytes:
    if codec == SNAPPY:
        return bytes(cramjam.snappy.compress_raw(data))
    if codec == LZ4:
        # Kafka's Java client cannot read blocks that refer to each other.
        compressor = cramjam.lz4.Compressor(block_linked=False)
        compressor.compress(data)
        return bytes(compressor.finish())
    return bytes((cramjam.gzip if codec == GZIP else cramjam.zstd).compress(data))


def _bounded(module: object, data: memoryview | bytes) -> memoryview:
    guess = min(LARGEST_OUTPUT_BYTES, max(1 << 16, len(data) * 16))
    while True:
        output = bytearray(guess)
        try:
            size = module.decompress_into(data, output)  # type: ignore[attr-defined]
        except cramjam.DecompressionError as error:
            # Only for want of room is it worth trying again: damage must not cost the largest buffer.
            if str(error) != _NO_ROOM or guess >= LARGEST_OUTPUT_BYTES:
                raise
            guess = min(LARGEST_OUTPUT_BYTES, guess * 16)
            continue
        return memoryview(output)[:size]


def _snappy(data: bytes) -> bytes:
    """Raw snappy (librdkafka) or a row of raw blocks behind the xerial header (Java)."""
    if not data.startswith(_XERIAL_MAGIC):
        return _raw_snappy(data)
    blocks = []
    position = _XERIAL_HEADER_SIZE
    total = 0
    while position < len(data):
        (size,) = _CHUNK_SIZE.unpack_from(data, position)
        position += _CHUNK_SIZE.size
        block = _raw_snappy(data[position : position + size])
        total += len(block)
        if total > LARGEST_OUTPUT_BYTES:
            raise Corruption("a snappy batch is larger than any batch may be")
        blocks.append(block)
        position += size
    return b"".join(blocks)


def _raw_snappy(block: bytes) -> bytes:
    if cramjam.snappy.decompress_raw_len(block) > LARGEST_OUTPUT_BYTES:
        raise Corruption("a snappy batch is larger than any batch may be")
    return bytes(cramjam.snappy.decompress_raw(block))
