"""What a writer decides from its marker, and how it notices that a replay brings other rows."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import Conflict
from headwater.streams.sink.fingerprint import Fingerprint
from headwater.streams.sink.marker import (
    Done,
    Marker,
    Write,
    Writer,
    decide,
    refuse_other_order,
    refuse_other_rows,
)
from headwater.streams.sink.records import COLUMNS

WRITER = Writer("query", 3)
SOME = Fingerprint(rows=7, total=70, order=1)


def records(*pairs: tuple[bytes | None, bytes | None]) -> pa.RecordBatch:
    rows = [{"key": key, "value": value, "topic": "t"} for key, value in pairs]
    return pa.RecordBatch.from_pylist(rows, schema=COLUMNS)


def fingerprint(*batches: pa.RecordBatch) -> Fingerprint:
    made = Fingerprint()
    for each in batches:
        made = made.with_records(each)
    return made


class TestDecision:
    def test_a_new_writer_writes(self) -> None:
        assert decide(None, 5, WRITER) == Write(Fingerprint())

    def test_the_next_batch_is_written(self) -> None:
        assert decide(Marker(5, SOME), 5, WRITER) == Write(Fingerprint())
        assert decide(Marker(2, SOME), 5, WRITER) == Write(Fingerprint())

    def test_a_batch_that_is_written_is_not_written_again(self) -> None:
        assert decide(Marker(6, SOME), 5, WRITER) == Done(SOME)

    def test_a_part_is_gone_on_with(self) -> None:
        assert decide(Marker(5, SOME, is_part=True), 5, WRITER) == Write(SOME)

    def test_a_checkpoint_that_went_back_is_refused(self) -> None:
        """The batches in between may have other offsets now: skipping them would lose records."""
        with pytest.raises(Conflict, match="batch 5 comes again, but task 3 has written 7 batches"):
            decide(Marker(7, SOME), 5, WRITER)

    def test_a_marker_survives_its_text(self) -> None:
        for marker in (Marker(6, SOME), Marker(5, SOME, is_part=True)):
            assert Marker.of(marker.next_batch, marker.metadata()) == marker

    def test_writers_have_names_of_their_own(self) -> None:
        writers = [
            Writer(query, task, sink)
            for query in ("a", "b")
            for task in (None, 0, 1)
            for sink in ("", "t", "0")
        ]
        assert len({each.name for each in writers}) == len(writers)
        assert WRITER.whole == Writer("query")


PAIRS = st.tuples(st.none() | st.binary(max_size=5), st.none() | st.binary(max_size=5))


class TestFingerprint:
    @given(pairs=st.lists(PAIRS, max_size=8), data=st.data())
    def test_it_does_not_depend_on_how_rows_are_cut_into_batches(self, pairs, data) -> None:
        cuts = sorted(data.draw(st.lists(st.integers(0, len(pairs)), max_size=3)))
        whole = records(*pairs)
        parts = [
            whole.slice(start, end - start)
            for start, end in zip([0, *cuts], [*cuts, len(pairs)], strict=True)
        ]
        assert fingerprint(*parts) == fingerprint(whole)

    @given(pairs=st.lists(PAIRS, max_size=8), data=st.data())
    def test_another_order_is_the_same_rows(self, pairs, data) -> None:
        shuffled = data.draw(st.permutations(pairs))
        once, again = fingerprint(records(*pairs)), fingerprint(records(*shuffled))
        assert again.has_rows_of(once)
        if shuffled != pairs:
            assert again != once

    @given(pairs=st.lists(PAIRS, min_size=1, max_size=8), data=st.data())
    def test_other_contents_are_noticed(self, pairs, data) -> None:
        at = data.draw(st.integers(0, len(pairs) - 1))
        other = data.draw(PAIRS.filter(lambda each: each != pairs[at]))
        changed = [*pairs[:at], other, *pairs[at + 1 :]]
        assert not fingerprint(records(*changed)).has_rows_of(fingerprint(records(*pairs)))

    @pytest.mark.parametrize(
        ("then", "now"),
        [
            (["1:12", "2:30"], ["1:30", "2:12"]),
            (['{"n":15}'], ['{"n":24}']),
            (['{"n":12}'], ['{"n":21}']),
            (["a" * 4000 + "12", "b" * 4000 + "30"], ["a" * 4000 + "30", "b" * 4000 + "12"]),
        ],
    )
    def test_contents_with_the_same_sum_are_other_rows(self, then, now) -> None:
        for key in (None, b"k"):
            once, again = (
                fingerprint(records(*((key, each.encode()) for each in values)))
                for values in (then, now)
            )
            assert not again.has_rows_of(once)

    def test_a_value_that_changes_its_key_is_another_row(self) -> None:
        once = fingerprint(records((b"a", b"1"), (b"b", b"2")))
        again = fingerprint(records((b"a", b"2"), (b"b", b"1")))
        assert not again.has_rows_of(once)

    def test_rows_of_any_size_are_told_apart(self) -> None:
        """Also those that are larger than what is hashed at once."""
        large = bytes(range(256)) * 20_000
        made = fingerprint(records((None, b"x"), (b"k", large), (None, None)))
        same = fingerprint(records((b"k", large)), records((None, None), (None, b"x")))
        other = fingerprint(records((None, b"x"), (b"k", large[:-1] + b"!"), (None, None)))
        assert same.has_rows_of(made)
        assert not other.has_rows_of(made)

    def test_a_marker_of_an_older_version_is_compared_by_its_number_of_rows(self) -> None:
        old = Marker.of(6, '{"rows":2,"total":70,"order":[1,2,3,4],"part":false}')
        refuse_other_rows(old.written, fingerprint(records((b"a", b"1"), (b"b", b"2"))), 5, WRITER)
        refuse_other_order(old.written, fingerprint(records((b"a", b"1"), (b"b", b"2"))), 5, WRITER)
        for refuse in (refuse_other_rows, refuse_other_order):
            with pytest.raises(Conflict, match="2 then, 1 now"):
                refuse(old.written, fingerprint(records((b"a", b"1"))), 5, WRITER)

    def test_other_rows_are_refused_in_one_sentence(self) -> None:
        now = Fingerprint(rows=8, total=70)
        for refuse in (refuse_other_rows, refuse_other_order):
            with pytest.raises(Conflict, match="batch 5 comes again with other rows than task 3"):
                refuse(SOME, now, 5, WRITER)
        refuse_other_rows(SOME, Fingerprint(7, 70, order=2), 5, WRITER)
