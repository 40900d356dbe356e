"""Polls are reduced to the last change per key by a function that is made once per view."""

from followers.polls import collapse, poll
from headwater.followers.changes import collapser
from headwater.views import Step, decode_definition, encode_definition
from rigs.changelog import make_view


def test_what_reads_the_rows_of_a_view_is_not_made_again_when_it_is_followed_again() -> None:
    steps = (Step(reads=("orders",), group="shop", writes="kept"),)
    view = make_view("kept", indexes=(("customer",),), steps=steps)
    assert collapser(view) is collapser(decode_definition(encode_definition(view)))
    assert collapser(view) is not collapser(make_view("other"))


def test_decimals_in_keys_are_one_key_as_spark_writes_them_and_as_we_do() -> None:
    view = make_view("prices", {"price": "decimal(5,2)", "n": "int"}, key=("price",))
    records = [
        (b'{"price":1.00}', b'{"price":1.00,"n":1}'),
        (b'{"price":"1.00"}', b'{"price":"1.00","n":2}'),
        (b'{"price":2.00}', None),
        (b'{"price":"2.00"}', b'{"price":2.00,"n":3}'),
        (b'{"price":"3.00"}', b'{"price":"3.00","n":4}'),
        (b'{"price":3.00}', None),
    ]
    changes = collapse(view, poll(records))
    assert (changes.upserts_at, changes.deletes_at) == ([1, 3], [5])
    assert changes.upserts == [records[1][1], records[3][1]], (
        "one of them was read letter by letter"
    )
    assert changes.keys() == [b'{"price":"%d.00"}' % n for n in (1, 2, 3)]


def test_changes_come_in_the_order_of_keys_so_that_a_store_finds_its_pages_warm() -> None:
    view = make_view("counts", {"shop": "string", "n": "int"}, key=("shop",))
    keys = [b'{"shop":"%b"}' % shop for shop in (b"d", b"b", b"a", b"c", b"b")]
    rows = [key[:-1] + b',"n":%d}' % place for place, key in enumerate(keys)]
    records = list(zip(keys, [*rows[:3], None, rows[4]], strict=True))
    for read in (records, [(b" " + keys[0], rows[0]), *records[1:]]):  # the second letter by letter
        changes = collapse(view, poll(read))
        assert changes.upserted == [keys[2], keys[1], keys[0]]
        assert (changes.upserts_at, changes.deletes_at) == ([2, 4, 0], [3])
