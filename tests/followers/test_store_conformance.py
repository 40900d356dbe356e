"""What every store must do. A new store is one more line in `SHELVES`."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from followers.memory_store import MemoryShelf
from followers.polls import apply, collapse, gone, poll, put, rows_of
from headwater.client.record_json import as_json
from headwater.errors import Conflict, InvalidRequest
from headwater.followers.sqlite.shelf import SqliteShelf
from headwater.followers.store import Page, Shelf, Store
from headwater.views import Column, View, encode_key, parse_type
from headwater.views.rows import decode_row
from headwater.views.where import parse_where
from rigs.changelog import make_view, revenue
from rigs.effort import examples

SHELVES: dict[str, Callable[[Path], Any]] = {
    "memory": lambda _: MemoryShelf(),
    "sqlite": lambda directory: SqliteShelf(directory / "views"),
}
VIEW = make_view("shop.revenue")


@pytest.fixture(params=SHELVES)
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shelf]:
    made = SHELVES[request.param](tmp_path)
    yield made
    made.close()


@pytest.fixture
def store(shelf: Shelf) -> Iterator[Store]:
    made = shelf.create(VIEW, "topic-1", {0: 0, 1: 0}, now_ms=5)
    yield made
    made.close()


def row(customer: int, total: float = 1.0, **others: Any) -> dict[str, Any]:
    """As it comes back."""
    given_row = revenue(customer, total, **others)
    return decode_row(VIEW, put(VIEW, given_row)[1] or b"")


def key(customer: int) -> dict[str, Any]:
    return {"minute": "2026-09-01T10:00:00.000000Z", "customer": customer}


def test_a_new_store_is_empty_at_the_start_of_its_topic_and_not_complete(store: Store) -> None:
    assert rows_of(store) == []
    assert store.positions() == {0: 0, 1: 0}
    assert (store.is_complete, store.caught_up_ms, store.fresh_ms) == (False, None, 5)
    assert (store.view, store.topic_id) == (VIEW, "topic-1")


def test_rows_and_positions_move_together(store: Store) -> None:
    apply(store, poll([put(VIEW, revenue(7, 1.5)), put(VIEW, revenue(8))], end=5))
    answer = store.reader.get(key(7))
    assert answer.rows == [row(7, 1.5)]
    assert answer.as_of == {0: 5, 1: 0} == store.positions()


def test_the_last_change_of_a_key_counts_and_a_tombstone_deletes(store: Store) -> None:
    apply(
        store,
        poll(
            [
                put(VIEW, revenue(7, 1.0)),
                put(VIEW, revenue(8, 1.0)),
                put(VIEW, revenue(7, 2.0)),
                gone(VIEW, **key(8)),
                gone(VIEW, **key(9)),
            ]
        ),
    )
    assert rows_of(store) == [row(7, 2.0)]
    apply(store, poll([gone(VIEW, **key(7)), put(VIEW, revenue(8, 3.0))], start=5))
    assert rows_of(store) == [row(8, 3.0)]


def test_a_replayed_batch_never_makes_a_row_older_nor_brings_a_deleted_one_back(
    store: Store,
) -> None:
    first = poll([put(VIEW, revenue(7, 1.0)), put(VIEW, revenue(8, 1.0))])
    second = poll([put(VIEW, revenue(7, 2.0)), gone(VIEW, **key(8))], start=2)
    for each in (first, second, first, second, first):
        apply(store, each)
    assert rows_of(store) == [row(7, 2.0)]
    assert store.positions() == {0: 4, 1: 0}


def test_of_a_batch_that_overlaps_only_the_new_part_is_applied(store: Store) -> None:
    records = [put(VIEW, revenue(7, float(n))) for n in range(4)]
    apply(store, poll(records[:3]))
    apply(store, poll([*records[1:3], gone(VIEW, **key(7))], start=1))
    assert rows_of(store) == []
    assert store.positions() == {0: 4, 1: 0}


def test_a_batch_that_would_leave_a_gap_is_refused_and_changes_nothing(store: Store) -> None:
    apply(store, poll([put(VIEW, revenue(7))]))
    with pytest.raises(Conflict):
        apply(store, poll([put(VIEW, revenue(8))], start=2))
    assert rows_of(store) == [row(7)]
    assert store.positions() == {0: 1, 1: 0}


def test_partitions_have_positions_of_their_own(store: Store) -> None:
    apply(store, poll([put(VIEW, revenue(7))], partition=1))
    apply(store, poll([put(VIEW, revenue(8))], partition=0))
    apply(store, poll([put(VIEW, revenue(7, 9.0))], partition=1))
    assert rows_of(store) == [row(7), row(8)]
    assert store.positions() == {0: 1, 1: 1}


def test_offsets_without_records_move_the_position(store: Store) -> None:
    apply(store, poll([], start=0, end=10))
    assert store.positions() == {0: 10, 1: 0}


BAD: dict[str, tuple[bytes | None, bytes | None]] = {
    "no key": (None, b"{}"),
    "a key that is no JSON": (b"7x", b'{"a":1}'),
    "a key of another view": (b'{"id":7}', b'{"id":7}'),
    "a tombstone for such a key": (b'{"id":7}', None),
    "no JSON": (encode_key(VIEW, key(9)), b"broken"),
    "half an object": (encode_key(VIEW, key(9)), put(VIEW, revenue(9))[1][:-1]),  # type: ignore[index]
    "two objects": (encode_key(VIEW, key(9)), put(VIEW, revenue(9))[1] + b",{}"),  # type: ignore[operator]
    "no object": (encode_key(VIEW, key(9)), b"[1]"),
    "JSON null": (encode_key(VIEW, key(9)), b"null"),
    "a key that is no UTF-8": (b'{"minute":"\xff","customer":7}', None),
    "no UTF-8": (encode_key(VIEW, key(9)), encode_key(VIEW, key(9))[:-1] + b',"name":"\xff"}'),
    "another key": put(VIEW, revenue(9))[:1] + put(VIEW, revenue(10))[1:],
    "a key that only begins alike": put(VIEW, revenue(9))[:1] + put(VIEW, revenue(90))[1:],
    "text for a number": (
        encode_key(VIEW, key(9)),
        encode_key(VIEW, key(9))[:-1] + b',"orders":"many"}',
    ),
    "a fraction for a bigint": (
        encode_key(VIEW, key(9)),
        encode_key(VIEW, key(9))[:-1] + b',"orders":1.5}',
    ),
    "a key of nanoseconds": (
        b'{"minute":"2026-09-01T10:00:00.000000001Z","customer":2}',
        b'{"minute":"2026-09-01T10:00:00.000000001Z","customer":2,"total":9}',
    ),
    "a number for a boolean": (
        encode_key(VIEW, key(9)),
        encode_key(VIEW, key(9))[:-1] + b',"paid":3}',
    ),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_record_that_does_not_fit_is_rejected_once_and_the_rest_goes_on(
    store: Store, bad: tuple[bytes | None, bytes | None]
) -> None:
    records = [put(VIEW, revenue(n)) for n in range(5)]
    found = poll([*records[:3], bad, *records[3:]])
    rejected = apply(store, found)
    assert [each.place for each in rejected] == [3]
    assert rejected[0].reason
    assert "\n" not in rejected[0].reason
    assert rows_of(store) == [row(n) for n in range(5)]
    assert store.positions() == {0: 6, 1: 0}
    assert [each[:2] for each in store.rejections()] == [(0, 3)]


ODD_VALUES: dict[str, list[str]] = {
    "boolean": ["true", "0", "1", '"true"', "-0.0", "[]"],
    "tinyint": ["127", "128", "true", "7.0", "0.12345678901234567890", '"7"', '"7_0"', '"1e1"'],
    "bigint": ["true", "9223372036854775808", "123456789012345678.25", '" 7 "', "1e3", "{}"],
    "double": ["true", "-0.0", "1e999", '"NaN"', '"nan"', '"inf"', '"-Infinity"', "NaN", '"1e5"'],
    "decimal(10,2)": ["1e300", "1e999", '"1e999999"', "123456789012345678.25", "true", '"12.500"'],
    "decimal(9,0)": ["1", '"7"', "-0", "1.5", "1e-400"],
    "decimal(5,-2)": ["150", '"100"', "150.0", "1e4"],
    "decimal(150,0)": ["9" * 99, "9" * 100, f'"{"9" * 100}"', "1"],
    "decimal(20,2)": ['"1e9999999"', "1.0e-9999999999999999999999", "1.00000000000000000e9999999"],
    "decimal(38,10)": ['"1-2"', '"e5"', '"--1"', '"2026-09-01"', "1e300", '"1e-999999999"', "[1]"],
    "string": ["7", "true", "{}", '["a"]', '"7"', '"{}"', r'"\ud800"', r'"a\u0000"', r'"\\u0000"'],
    "binary": ['"YQ=="', '"YR=="', '"YQ"', '"!!!"', '"Y==="', '"a-_b"', "7", '""'],
    "date": ['"2026-02-30"', '"2024-02-29"', '"abcd-ef-gh"', '"0000-01-01"', "20260901"],
    "timestamp": [
        '"2026-09-01T10:00:00.000000Z"',
        '"2024-02-29T10:00:00.000000Z"',
        '"2026-02-29T10:00:00.000000Z"',
        '"2026-09-01T24:00:00.000000Z"',
        '"2026-09-01T10:00:60.000000Z"',
        '"2026-13-01T10:00:00.000000Z"',
        '"xxxx-xx-xxTxx:xx:xx.xxxxxxZ"',
        '"2026-09-01T10:00:00Z"',
    ],
    "timestamp_ntz": ['"2026-04-31T10:00:00.000000"', '"2026-04-30T10:00:00.000000"'],
    "struct<a:decimal(20,2)>": ['{"a":123456789012345678.25}', '{"a":1e999}', r'{"a":"\u0000"}'],
    "array<array<array<array<int>>>>": ["[[[[1]]]]", "[[[[1,]]]]", "[,]", "[]"],
}


def read_or_reason(view: View, value: bytes) -> dict[str, Any] | str:
    try:
        return decode_row(view, value)
    except InvalidRequest as error:
        return error.what


@pytest.mark.parametrize("kind", SHELVES)
@pytest.mark.parametrize("of", ODD_VALUES)
def test_a_store_keeps_what_a_reader_of_the_topic_reads_and_rejects_the_rest(
    tmp_path: Path, kind: str, of: str
) -> None:
    """Subscribers read records, queries read the store: what they see must be the same."""
    view = make_view("odd", {"id": "int", "c": of}, key=("id",))
    shelf = SHELVES[kind](tmp_path)
    store = shelf.create(view, "t", {0: 0}, now_ms=1)
    for offset, odd in enumerate(ODD_VALUES[of]):
        record = b'{"id":%d}' % offset, b'{"id":%d,"c":%b}' % (offset, odd.encode())
        rejected = apply(store, poll([record], start=offset))
        kept = store.reader.get({"id": offset}).rows
        read = read_or_reason(view, record[1])
        if isinstance(read, str):
            assert ([each.reason for each in rejected], kept) == ([read], []), odd
        else:
            assert (rejected, kept) == ([], [read]), odd
            assert as_json(kept[0]) == as_json(read), odd
            view.by_name["c"].type.python(read["c"])
    store.close()
    shelf.close()


NARROW = View(
    "narrow",
    "narrow",
    ("id",),
    (
        Column("id", parse_type("int"), is_nullable=False),
        Column("small", parse_type("tinyint"), is_nullable=False),
        Column("name", parse_type("string")),
        Column("tags", parse_type("array<int>"), is_nullable=False),
    ),
)


@pytest.mark.parametrize(
    "later",
    [
        b'{"id":1,"small":500,"tags":[]}',
        b'{"id":1,"small":null,"tags":[]}',
        b'{"id":1,"tags":[]}',
        b'{"id":1,"small":5,"name":"\xff","tags":[]}',
        b'{"id":1,"small":5,"tags":null}',
        b'{"id":1,"small":5,"tags":[1.0e-9999999999999999999999]}',
    ],
)
def test_a_row_is_not_lost_to_a_later_one_of_the_same_batch_that_does_not_fit(
    shelf: Shelf, later: bytes
) -> None:
    store = shelf.create(NARROW, "t", {0: 0}, now_ms=1)
    earlier = b'{"id":1,"small":5,"name":"a","tags":[1]}'
    rejected = apply(store, poll([(b'{"id":1}', earlier), (b'{"id":1}', later)]))
    assert [each.place for each in rejected] == [1]
    assert rows_of(store) == [decode_row(NARROW, earlier)]
    store.close()


TWO_SPELLINGS: dict[str, tuple[bytes, bytes]] = {
    "decimal(5,2)": (b'"1.00"', b"1.00"),
    "decimal(7,2)": (b'"0.00"', b'"-0.00"'),
    "decimal(20,2)": (b'"-0.00"', b'"0.00"'),
    "int": (b"0", b"-0"),
    "string": (rb'"a\nb"', rb'"a\u000ab"'),
    "char": (rb'"a\u001fb"', rb'"a\u001Fb"'),
}


@pytest.mark.parametrize("of", TWO_SPELLINGS)
def test_the_newest_change_counts_also_between_two_spellings_of_a_key(
    shelf: Shelf, of: str
) -> None:
    view = make_view("two", {"id": of.replace("char", "string"), "n": "int"}, key=("id",))
    store = shelf.create(view, "t", {0: 0}, now_ms=1)
    one, other = (b'{"id":%b}' % each for each in TWO_SPELLINGS[of])

    def change(key: bytes, n: int) -> tuple[bytes, bytes]:
        return key, key[:-1] + b',"n":%d}' % n

    apply(store, poll([change(one, 1), change(other, 2), change(one, 3)]))
    assert [each["n"] for each in rows_of(store)] == [3]
    apply(store, poll([change(one, 4), change(other, 5)], start=3))
    assert [each["n"] for each in rows_of(store)] == [5]
    apply(store, poll([(one, None), change(other, 6)], start=5))
    assert [each["n"] for each in rows_of(store)] == [6]
    apply(store, poll([change(one, 7), (other, None)], start=7))
    assert rows_of(store) == []
    store.close()


def test_of_a_column_that_is_there_twice_store_and_reader_take_the_same(store: Store) -> None:
    written, value = put(VIEW, revenue(7, 1.0))
    assert value is not None
    twice = value[:-1] + b',"total":2.0}'
    apply(store, poll([(written, twice)]))
    assert rows_of(store) == [decode_row(VIEW, twice)]


@pytest.mark.parametrize("minute", ["2026-09-01T10:00:00Z", "2026-09-01T12:00:00.000000+02:00"])
def test_a_tombstone_spelt_otherwise_deletes_too(store: Store, minute: str) -> None:
    apply(store, poll([put(VIEW, revenue(7))]))
    apply(store, poll([(b'{"minute":"%b","customer":7}' % minute.encode(), None)], start=1))
    assert rows_of(store) == []


def test_the_newest_change_counts_however_its_key_is_spelt(shelf: Shelf) -> None:
    view = make_view("spelt", {"id": "double", "name": "string"}, key=("id",))
    store = shelf.create(view, "t", {0: 0}, now_ms=1)
    spellings = [(b"1.0", b"a"), (b"1", b"b"), (b"1e0", b"c"), (b"1.0", b"d"), (b"1", b"e")]
    records = [(b'{"id":%b}' % i, b'{"id":%b,"name":"%b"}' % (i, name)) for i, name in spellings]
    apply(store, poll([*records[:3], records[4], records[3]]))
    assert rows_of(store) == [{"id": 1.0, "name": "d"}]
    store.close()


def test_many_bad_records_in_one_batch_are_all_found(store: Store) -> None:
    bad = {3, 4, 50, 99}
    records = [
        BAD["text for a number"] if n in bad else put(VIEW, revenue(n + 100)) for n in range(100)
    ]
    records = [
        (encode_key(VIEW, key(n)), (value or b"").replace(b'"customer":9,', b'"customer":%d,' % n))
        if n in bad
        else (k, value)
        for n, (k, value) in enumerate(records)
    ]
    assert {each.place for each in apply(store, poll(records))} == bad
    assert len(rows_of(store)) == 96


def test_what_was_rejected_by_an_earlier_store_is_not_rejected_again(
    shelf: Shelf, store: Store
) -> None:
    found = poll([put(VIEW, revenue(1)), BAD["no JSON"]])
    apply(store, found)
    again = shelf.create(VIEW, "topic-1", {0: 0, 1: 0}, now_ms=6)
    again.remember_rejections(store.rejections())
    assert apply(again, found) == []
    assert rows_of(again) == [row(1)]
    again.close()


def test_if_a_rejection_cannot_be_kept_nothing_is_applied(store: Store) -> None:
    def fail(_: object) -> None:
        raise OSError("no room for dead letters")

    changes = collapse(VIEW, poll([put(VIEW, revenue(1)), BAD["no JSON"]]))
    with pytest.raises(OSError, match="no room"):
        store.apply(changes, caught_up_ms=None, reject=fail)
    assert rows_of(store) == []
    assert store.positions() == {0: 0, 1: 0}


def test_keys_spelt_otherwise_are_the_same_row(store: Store) -> None:
    spelt = b'{"customer": 7, "minute": "2026-09-01T12:00:00+02:00"}'
    apply(store, poll([put(VIEW, revenue(7)), (spelt, spelt[:-1] + b', "total": 4}')]))
    assert rows_of(store) == [row(7, 4.0)]
    apply(store, poll([(spelt, None)], start=2))
    assert rows_of(store) == []


def test_it_is_complete_once_it_has_caught_up(store: Store) -> None:
    apply(store, poll([put(VIEW, revenue(7))]), caught_up_ms=77)
    assert (store.is_complete, store.caught_up_ms, store.fresh_ms) == (True, 77, 77)
    store.mark_caught_up(99)
    assert store.fresh_ms == 99


def test_the_keys_of_changes_are_spelt_as_ours_whatever_was_written(store: Store) -> None:
    apply(store, poll([put(VIEW, revenue(n)) for n in range(3)]))
    spelt = b'{"customer": %d, "minute": "2026-09-01T10:00Z"}'
    odd = [(spelt % 0, (spelt % 0)[:-1] + b', "total": 4}'), (spelt % 1, None), (b"no key", None)]
    changes = collapse(VIEW, poll([*odd, put(VIEW, revenue(2))], start=3))
    assert sorted(changes.keys()) == [encode_key(VIEW, key(n)) for n in range(3)]
    assert len(changes.since({0: 6}).keys()) == 1
    assert len(store.rows(changes.keys())) == 3


def test_present_rows_are_found_by_the_keys_of_records(store: Store) -> None:
    apply(store, poll([put(VIEW, revenue(n)) for n in range(3)]))
    keys = [encode_key(VIEW, key(n)) for n in (0, 2, 5)]
    assert store.rows(keys) == {keys[0]: row(0), keys[1]: row(2)}


def test_pages_are_stable_while_rows_come_and_go(store: Store) -> None:
    apply(store, poll([put(VIEW, revenue(n)) for n in range(0, 20, 2)]))
    first = store.reader.scan(None, Page(4)).rows
    apply(
        store, poll([gone(VIEW, **key(6)), put(VIEW, revenue(1)), put(VIEW, revenue(9))], start=10)
    )
    after = {name: first[-1][name] for name in VIEW.key}
    rest = store.reader.scan(None, Page(100, after)).rows
    assert [each["customer"] for each in (*first, *rest)] == [0, 2, 4, 6, 8, 9, 10, 12, 14, 16, 18]


def test_a_page_ends_where_its_bytes_do_but_has_a_row_at_least(store: Store) -> None:
    apply(store, poll([put(VIEW, revenue(n, name="x" * 1000)) for n in range(10)]))
    sizes = {}
    for max_bytes in (1, 1100, 3500, 100_000, None):
        found = store.reader.scan(None, Page(100, max_bytes=max_bytes))
        sizes[max_bytes] = (len(found.rows), found.is_cut)
    assert sizes == {
        1: (1, True),
        1100: (1, True),
        3500: (3, True),
        100_000: (10, False),
        None: (10, False),
    }


def test_a_snapshot_is_of_one_moment(store: Store) -> None:
    apply(store, poll([put(VIEW, revenue(n)) for n in range(2000)]))
    snapshot = store.reader.snapshot(parse_where(VIEW, "customer < 1500"))
    apply(store, poll([gone(VIEW, **key(n)) for n in range(2000)], start=2000))
    assert len(list(snapshot)) == 1500
    assert snapshot.as_of == {0: 2000, 1: 0}
    snapshot.close()
    assert store.reader.count(within_s=5) == 0


TYPED = make_view(
    "typed",
    {
        "id": "string",
        "flag": "boolean",
        "small": "tinyint",
        "big": "bigint",
        "real": "double",
        "cents": "decimal(10,2)",
        "exact": "decimal(38,10)",
        "raw": "binary",
        "day": "date",
        "at": "timestamp",
        "local": "timestamp_ntz",
        "tags": "array<string>",
        "inner": "struct<a:int,b:string>",
    },
    key=("id",),
)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
DECIMALS = st.integers(-(10**30), 10**30).map(lambda number: Decimal(f"{number}E-10"))
ROWS = st.fixed_dictionaries(
    {"id": TEXT},
    optional={
        "flag": st.booleans(),
        "small": st.integers(-128, 127),
        "big": st.integers(-(2**63), 2**63 - 1),
        "real": st.floats(),
        "cents": st.decimals(min_value=-(10**8), max_value=10**8, places=2),
        "exact": DECIMALS,
        "raw": st.binary(max_size=20),
        "day": st.dates(),
        "at": st.datetimes(),
        "local": st.datetimes(),
        "tags": st.lists(TEXT, max_size=3),
        "inner": st.fixed_dictionaries({"a": st.integers(0, 9), "b": TEXT}),
    },
)


@pytest.mark.parametrize("kind", SHELVES)
@settings(max_examples=examples(30), deadline=None)
@given(rows=st.lists(ROWS, max_size=8), gone_at=st.sets(st.integers(0, 7)))
def test_every_value_comes_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, kind: str, rows: list[Any], gone_at: set[int]
) -> None:
    shelf = SHELVES[kind](tmp_path_factory.mktemp("typed"))
    store = shelf.create(TYPED, "t", {0: 0}, now_ms=1)
    records = [put(TYPED, each) for each in rows]
    records += [(records[at][0], None) for at in sorted(gone_at) if at < len(records)]
    assert apply(store, poll(records)) == []
    model: dict[bytes | None, Any] = {}
    for written, value in records:
        model.pop(written, None)
        if value is not None:
            model[written] = decode_row(TYPED, value)
    assert rows_of(store) == sorted(model.values(), key=lambda each: each["id"])
    for each in model.values():
        assert store.reader.get({"id": each["id"]}).rows == [each]
    store.close()
    shelf.close()


def test_stores_are_found_again_oldest_first_and_removed(shelf: Shelf) -> None:
    other: View = make_view("other")
    first = shelf.create(VIEW, "t", {0: 0}, now_ms=1)
    second = shelf.create(VIEW, "u", {0: 0}, now_ms=1)
    third = shelf.create(other, "t", {0: 0}, now_ms=1)
    apply(second, poll([put(VIEW, revenue(7))]), caught_up_ms=4)
    assert shelf.names() == ["other", "shop.revenue"]
    for each in (first, second, third):
        each.close()
    found = shelf.stores("shop.revenue")
    assert [each.topic_id for each in found] == ["t", "u"]
    assert rows_of(found[1]) == [row(7)]
    assert (found[1].is_complete, found[1].fresh_ms) == (True, 4)
    for each in found:
        shelf.remove(each)
    assert shelf.names() == ["other"]
    assert shelf.stores("shop.revenue") == []
