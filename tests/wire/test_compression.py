"""Every codec round trip, whoever wrote it; and what hostile input may cost."""

import contextlib
import gzip
import random
import struct
import tracemalloc
from pathlib import Path

import cramjam
import pytest
from aiokafka.codec import gzip_encode, lz4_encode, snappy_encode, zstd_encode
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import Corruption
from headwater.wire import compression
from headwater.wire.compression import GZIP, LZ4, NAMES, NONE, SNAPPY, ZSTD, compress, decompress

CODECS = [GZIP, SNAPPY, LZ4, ZSTD]
IDS = [NAMES[each] for each in CODECS]
KIND_OF_DATA = st.one_of(
    st.binary(max_size=3000),
    st.builds(
        lambda piece, times: piece * times, st.binary(min_size=1, max_size=20), st.integers(0, 9000)
    ),
)


@pytest.mark.parametrize("codec", [NONE, *CODECS])
@given(data=KIND_OF_DATA)
def test_what_was_compressed_comes_back(codec: int, data: bytes) -> None:
    assert bytes(decompress(codec, compress(codec, data))) == data


@pytest.mark.parametrize("codec", CODECS, ids=IDS)
@pytest.mark.parametrize(
    "size", [0, 1, (1 << 16) - 1, 1 << 16, (1 << 16) + 1, 1 << 20, (1 << 20) + 1]
)
@pytest.mark.parametrize("kind", ["zeros", "noise"])
def test_sizes_around_every_buffer_come_back(codec: int, size: int, kind: str) -> None:
    data = bytes(size) if kind == "zeros" else random.Random(size).randbytes(size)
    assert bytes(decompress(codec, compress(codec, data))) == data


def xerial(*blocks: bytes) -> bytes:
    packed = [bytes(cramjam.snappy.compress_raw(each)) for each in blocks]
    body = b"".join(struct.pack(">i", len(each)) + each for each in packed)
    return b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1) + body


@given(blocks=st.lists(st.binary(max_size=2000), max_size=5))
def test_snappy_of_java_is_a_row_of_blocks(blocks: list[bytes]) -> None:
    assert bytes(decompress(SNAPPY, xerial(*blocks))) == b"".join(blocks)


@given(members=st.lists(st.binary(max_size=500), min_size=1, max_size=3))
def test_gzip_may_have_several_members(members: list[bytes]) -> None:
    data = b"".join(gzip.compress(each) for each in members)
    assert bytes(decompress(GZIP, data)) == b"".join(members)


@pytest.mark.parametrize("codec", CODECS, ids=IDS)
def test_what_other_clients_compress_is_read(codec: int) -> None:
    data = b"the same words again and again, " * 500
    encoders = {GZIP: gzip_encode, SNAPPY: snappy_encode, LZ4: lz4_encode, ZSTD: zstd_encode}
    written = encoders[codec](data)
    assert len(written) < len(data)
    assert bytes(decompress(codec, written)) == data


BOMB_BYTES = compression.LARGEST_OUTPUT_BYTES + 1
LARGEST_MEMORY_BYTES = 2 * compression.LARGEST_OUTPUT_BYTES


def bomb(codec: int) -> bytes:
    """Over the limit once unpacked, and small as it is sent."""
    if codec == SNAPPY:
        return xerial(*[bytes(1 << 20)] * 257)
    module = {GZIP: cramjam.gzip, LZ4: cramjam.lz4, ZSTD: cramjam.zstd}[codec]
    compressor = module.Compressor()
    piece = bytes(1 << 24)
    for _ in range(BOMB_BYTES // len(piece) + 1):
        compressor.compress(piece)
    return bytes(compressor.finish())


@pytest.mark.parametrize("codec", CODECS, ids=IDS)
def test_a_bomb_is_corruption_and_costs_bounded_memory(codec: int) -> None:
    data = bomb(codec)
    assert len(data) < 16 << 20
    tracemalloc.start()
    try:
        with pytest.raises(Corruption):
            decompress(codec, data)
        assert tracemalloc.get_traced_memory()[1] < LARGEST_MEMORY_BYTES
    finally:
        tracemalloc.stop()


def test_a_snappy_block_that_claims_to_be_huge_allocates_nothing() -> None:
    claim = b"\xff\xff\xff\xff\x0f"
    before = resident_peak_bytes()
    for data in (claim, b"\x82SNAPPY\x00" + struct.pack(">iii", 1, 1, 5) + claim):
        with pytest.raises(Corruption):
            decompress(SNAPPY, data)
    assert resident_peak_bytes() - before < 10 << 20


def resident_peak_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


@pytest.mark.parametrize("codec", CODECS, ids=IDS)
@given(data=st.data())
def test_damaged_bytes_are_corruption_or_other_bytes_never_another_error(
    codec: int, data: st.DataObject
) -> None:
    plain = data.draw(st.binary(max_size=300))
    packed = bytearray(
        xerial(plain) if codec == SNAPPY and data.draw(st.booleans()) else compress(codec, plain)
    )
    if data.draw(st.booleans()) and packed:
        del packed[data.draw(st.integers(0, len(packed) - 1)) :]
    for _ in range(data.draw(st.integers(0, 3))):
        if packed:
            packed[data.draw(st.integers(0, len(packed) - 1))] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(Corruption):
        decompress(codec, bytes(packed))
