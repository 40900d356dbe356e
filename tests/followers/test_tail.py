"""What is kept of the newest changes has a bound, whoever watches them."""

from followers.polls import poll, put
from headwater.followers.tail import Chunk, Source
from rigs.changelog import make_view, revenue

VIEW = make_view("shop.revenue")


def test_what_readers_share_of_a_chunk_is_bounded_however_many_filters_they_have() -> None:
    found = poll([put(VIEW, revenue(number)) for number in range(100)])
    chunk = Chunk(found, Source("tag", VIEW), fresh_ms=1)
    pieces = [b"x" * chunk.size_bytes]
    for number in range(1000):
        chunk.share(f"customer > {number}", pieces)
    kept = [each for each in chunk.shared.values() if each is pieces]
    assert 2 <= len(kept) <= 8
    chunk.share("customer == 1", [])
    assert chunk.shared["customer > 0"] is pieces
