"""What matches at one look means to every reader what it means to the one who reads it letter by letter."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from followers.polls import apply, poll
from headwater.client.record_json import as_json
from headwater.followers.sqlite.store import SqliteStore
from headwater.views import decode_key, encode_key
from headwater.views.rows import decode_row
from headwater.views.spelling import key_checker, keys_in_rows, respeller
from rigs.effort import examples
from views import near_misses

THOROUGHLY = settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@THOROUGHLY
@given(data=st.data())
def test_a_row_that_matches_is_read_and_stored_as_it_is(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    view = data.draw(near_misses.views())
    keys_of = keys_in_rows(view)
    found = data.draw(st.lists(near_misses.rows(view), max_size=15))
    matching = [(keys[0], raw) for raw in found if (keys := keys_of([raw])) is not None]
    read = {}
    for key, raw in matching:
        row = decode_row(view, raw)
        assert key == encode_key(view, {name: row[name] for name in view.key}), raw
        read[key] = row
    file: Path = tmp_path_factory.mktemp("near") / "1.sqlite"
    store = SqliteStore.create(file, view, "t", {0: 0}, now_ms=1)
    assert apply(store, poll(matching)) == []
    for key, row in read.items():
        (kept,) = store.reader.get(decode_key(view, key)).rows
        assert as_json(kept) == as_json(row), key
    store.close()


@THOROUGHLY
@given(data=st.data())
def test_a_key_that_matches_has_no_other_spelling(data: st.DataObject) -> None:
    view = data.draw(near_misses.views())
    raw = data.draw(near_misses.keys(view))
    respelt = respeller(view)([raw])
    if key_checker(view)(respelt):
        assert respelt == [encode_key(view, decode_key(view, raw))]
