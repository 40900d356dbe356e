"""Idempotent producers: what is repeated, what is new, what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import Corruption, Fenced, OutOfOrderSequence
from headwater.log.producers import LARGEST_SEQUENCE, Producers
from headwater.wire.record_batch import BatchHeader, read_header
from log.batches import Sender, batch, values


def header(sequence: int, count: int = 1, *, epoch: int = 0, producer: int = 1) -> BatchHeader:
    return read_header(batch(values(*["x"] * count), Sender(producer, epoch, sequence)))


def noted(*headers: BatchHeader) -> Producers:
    producers = Producers()
    offset = 0
    for each in headers:
        assert producers.check(each) is None
        producers.note(each, offset)
        offset += each.record_count
    return producers


def test_each_of_the_last_five_batches_is_recognised() -> None:
    sent = [header(2 * each, 2) for each in range(8)]
    producers = noted(*sent)

    for each in range(3, 8):
        stored = producers.check(sent[each])
        assert stored is not None
        assert stored.base_offset == 2 * each
    with pytest.raises(OutOfOrderSequence):
        producers.check(sent[2])


def test_gap_is_refused_and_the_next_batch_is_taken() -> None:
    producers = noted(header(0), header(1))

    with pytest.raises(OutOfOrderSequence):
        producers.check(header(3))
    assert producers.check(header(2)) is None


def test_old_epoch_is_fenced_and_a_new_one_starts_at_zero() -> None:
    producers = noted(header(0), header(0, epoch=1))

    with pytest.raises(Fenced):
        producers.check(header(1, epoch=0))
    with pytest.raises(OutOfOrderSequence):
        producers.check(header(5, epoch=2))
    assert producers.check(header(0, epoch=2)) is None


def test_sequences_wrap_also_inside_a_batch() -> None:
    producers = noted(header(LARGEST_SEQUENCE - 1, 4))

    assert producers.check(header(2)) is None
    assert producers.check(header(LARGEST_SEQUENCE - 1, 4)) is not None


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 5)), max_size=30), st.data())
def test_snapshot_holds_everything_and_no_damage_is_believed(
    sent: list[tuple[int, int]], data: st.DataObject
) -> None:
    producers = Producers()
    sequences = dict.fromkeys(range(1, 5), 0)
    offset = 0
    for producer, count in sent:
        producers.note(header(sequences[producer], count, producer=producer), offset)
        sequences[producer] += count
        offset += count
    whole = producers.encode()
    assert dict(Producers.decode(whole)) == dict(producers)
    with pytest.raises(Corruption):
        Producers.decode(whole[: data.draw(st.integers(0, len(whole) - 1))])


def test_silent_producer_is_forgotten_a_heard_one_is_not() -> None:
    producers = Producers()
    producers.note(header(0, producer=1), 0, now_s=10)
    producers.note(header(0, producer=2), 1, now_s=20)
    producers.expire(before_s=15)

    assert [each for each, _ in producers] == [2]
