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
