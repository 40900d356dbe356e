"""What is kept of the newest changes has a bound, whoever watches them."""

from typing import Any

from followers.polls import gone, poll, put
from headwater.followers.changes import Poll, decode_change
from headwater.followers.rows_before import Before
from headwater.followers.tail import CHUNK_RECORDS, Chunk, Source, Tail
from headwater.views import View
from rigs.changelog import make_view, revenue

VIEW = make_view("shop.revenue")
HOT = 999_999


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


class CountedPositions(dict[int, int]):
    """Positions that know how often they were looked at."""

    looks = 0

    def get(self, partition: int, default: Any = None) -> Any:
        self.looks += 1
        return super().get(partition, default)


def test_where_a_reader_goes_on_is_found_at_a_few_looks_however_much_is_kept() -> None:
    """Or every reader that comes back stops all others, and the follower, for a part of a second."""
    tail = Tail(kept_bytes=1_000_000)
    tail.reset({0: 0}, Source("tag", VIEW))
    for number in range(5000):
        tail.publish(poll([put(VIEW, revenue(number))], 2 * number, end=2 * number + 2), 1)
    kept = next(at for at in range(0, 10_000, 2) if tail.find({0: at}) is not None)
    assert 0 < kept < 8000
    for at in (0, kept - 1, kept, kept + 1, 9000, 9999, 10_000, 10_001):
        positions = CountedPositions({0: at})
        mark = tail.find(positions)
        assert positions.looks < 20
        assert (mark is None) == (at < kept)
        assert mark is None or mark.positions == {0: min(at, 10_000) // 2 * 2}
        if mark is not None and (chunk := tail.at(mark)) is not None:
            assert chunk.poll.start == mark.positions


def befores(view: View, found: Poll, rejected: frozenset[int], before: Before) -> list[Before]:
    """What the chunks of a poll say that was there before each of them."""
    tail = Tail()
    tail.reset({0: 0}, Source("tag", view))
    mark = tail.now
    tail.publish(found, 1, rejected, before)
    chunks = []
    while (chunk := tail.at(mark)) is not None:
        chunks.append(chunk)
        mark = mark.next(chunk)
    assert all(each.before is not None for each in chunks)
    return [each.before or {} for each in chunks]


def test_all_parts_of_many_changes_know_the_rows_before_them() -> None:
    """Or subscribers of a filter get deletes of rows that they never had."""
    records = [put(VIEW, revenue(number)) for number in range(2 * CHUNK_RECORDS + 10)]
    old = {key: decode_change(VIEW, key, value)[1] for key, value in records[::3] if key}
    found = befores(VIEW, poll(records), frozenset(), old)
    assert len(found) == 3
    together = {key: row for each in found for key, row in each.items() if row is not None}
    assert together == old


def test_what_an_earlier_part_has_changed_is_what_was_before_a_later_one() -> None:
    """Or a row that came with the first part is kept by those whose filter it leaves in the second."""
    fill = [put(VIEW, revenue(number)) for number in range(CHUNK_RECORDS - 1)]
    key = put(VIEW, revenue(HOT))[0]
    assert key is not None
    spelt = key.replace(b'":', b'": ')
    broken = (key, key[:-1] + b',"total":"much"}')
    changes = (
        put(VIEW, revenue(HOT, 1.0)),
        (spelt, put(VIEW, revenue(HOT, 2.0))[1]),
        broken,
        broken,
        gone(VIEW, minute="2026-09-01T10:00Z", customer=HOT),
        put(VIEW, revenue(HOT, 3.0)),
    )
    records = [record for each in changes for record in (each, *fill)]
    rejected = frozenset({3 * CHUNK_RECORDS})
    old = {key: {"total": 0.0}}
    found = [each.get(key) for each in befores(VIEW, poll(records), rejected, old)]
    totals = [None if row is None else row["total"] for row in found]
    assert totals == [0.0, 1.0, 2.0, 2.0, 2.0, None]
