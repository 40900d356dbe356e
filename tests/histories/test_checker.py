"""Every anomaly, as a small history that the checker must catch, and healthy ones that it must pass."""

from dataclasses import replace

import pytest

from histories.checker import RULES, Kind, check
from histories.history import (
    Append,
    End,
    History,
    Isolation,
    Outcome,
    Position,
    Reading,
    Record,
    Transaction,
)

X, Y, OUT = ("x", 0), ("y", 0), ("out", 0)
COMMITTED, ABORTED, UNKNOWN = Outcome.COMMITTED, Outcome.ABORTED, Outcome.UNKNOWN


def wrote(name: str, outcome: Outcome, *appends: Append, **more) -> Transaction:
    asked_at = None if outcome is ABORTED else 1.0
    return Transaction(
        name, more.pop("writer", "w"), outcome, appends, **{"commit_asked_at": asked_at, **more}
    )


def read(*records: Record, reader: str = "live", isolation=Isolation.READ_COMMITTED, **more):
    return Reading(reader, isolation, records, **more)


def final(*records: Record, **more) -> Reading:
    return read(*records, reader="final", is_final=True, **more)


def log(*records: Record, **more) -> Reading:
    """What a read_uncommitted reader finds when all is over."""
    return read(*records, reader="log", is_final=True, isolation=Isolation.READ_UNCOMMITTED, **more)


def kinds(*transactions: Transaction, reads: list[Reading], **more) -> set[Kind]:
    return {each.kind for each in check(History(transactions, tuple(reads), **more))}


X1, X2, Y1, Y2 = (Append(p, v) for p, v in ((X, "x1"), (X, "x2"), (Y, "y1"), (Y, "y2")))
AT_X0, AT_X1, AT_Y0, AT_Y1 = (
    Record(X, 0, "x1", 2.0),
    Record(X, 1, "x2", 2.0),
    Record(Y, 0, "y1", 2.0),
    Record(Y, 1, "y2", 2.0),
)


class TestHealthy:
    def test_committed_transactions_are_read_in_full(self):
        assert not kinds(
            wrote("a", COMMITTED, X1, Y1),
            wrote("b", COMMITTED, X2, Y2),
            reads=[read(AT_X0, AT_Y0), final(AT_X0, AT_X1, AT_Y0, AT_Y1)],
        )

    def test_aborted_transactions_are_only_seen_by_who_asks_for_them(self):
        assert not kinds(
            wrote("a", ABORTED, X1, Y1),
            wrote("b", COMMITTED, X2, Y2),
            reads=[
                final(AT_X1, AT_Y1),
                log(AT_X0, AT_X1, AT_Y0, AT_Y1),
                read(AT_X0, isolation=Isolation.READ_UNCOMMITTED),
            ],
        )

    @pytest.mark.parametrize("seen", [(), (AT_X0, AT_Y0)], ids=["nothing", "all"])
    def test_unknown_outcome_may_be_either(self, seen: tuple[Record, ...]):
        assert not kinds(wrote("a", UNKNOWN, X1, Y1), reads=[final(*seen)])

    def test_live_reader_may_be_behind_in_one_partition_and_ahead_in_another(self):
        assert not kinds(wrote("a", COMMITTED, X1, Y1), reads=[read(AT_Y0), final(AT_X0, AT_Y0)])

    def test_two_writers_may_interleave(self):
        assert not kinds(
            wrote("a", COMMITTED, X1, writer="w"),
            wrote("b", COMMITTED, X2, writer="v"),
            reads=[final(Record(X, 0, "x2", 2.0), Record(X, 1, "x1", 2.0))],
        )


class TestAppends:
    def test_committed_transaction_that_cannot_be_read_is_lost(self):
        assert kinds(wrote("a", COMMITTED, X1, Y1), reads=[final()]) == {Kind.LOST_WRITE}

    @pytest.mark.parametrize("outcome", [COMMITTED, UNKNOWN])
    def test_half_a_transaction_is_torn(self, outcome: Outcome):
        found = kinds(wrote("a", outcome, X1, Y1), reads=[final(AT_X0)])
        assert found == {Kind.TORN}

    def test_half_of_one_partition_is_torn(self):
        assert kinds(wrote("a", COMMITTED, X1, X2), reads=[final(AT_X0)]) == {Kind.TORN}

    def test_final_read_of_an_aborted_value(self):
        assert kinds(wrote("a", ABORTED, X1), reads=[final(AT_X0)]) == {Kind.ABORTED_READ}

    def test_live_read_of_an_aborted_value(self):
        found = kinds(wrote("a", ABORTED, X1), reads=[read(AT_X0), final()])
        assert found == {Kind.ABORTED_READ}

    def test_read_before_the_commit_was_asked_for(self):
        early = replace(AT_X0, at=0.5)
        found = kinds(wrote("a", COMMITTED, X1), reads=[read(early), final(AT_X0)])
        assert found == {Kind.OPEN_READ}

    def test_value_that_stands_twice(self):
        again = Record(X, 5, "x1", 2.0)
        found = kinds(wrote("a", COMMITTED, X1), reads=[final(AT_X0, again)])
        assert found == {Kind.DUPLICATE}

    def test_aborted_value_that_stands_twice_in_the_log(self):
        again = Record(X, 5, "x1", 2.0)
        found = kinds(wrote("a", ABORTED, X1), reads=[final(), log(AT_X0, again)])
        assert found == {Kind.DUPLICATE}

    def test_values_of_one_transaction_out_of_order(self):
        swapped = [Record(X, 0, "x2", 2.0), Record(X, 1, "x1", 2.0)]
        found = kinds(wrote("a", COMMITTED, X1, X2), reads=[final(*swapped)])
        assert found == {Kind.REORDERED}

    def test_transactions_of_one_writer_out_of_order(self):
        swapped = [Record(X, 0, "x2", 2.0), Record(X, 1, "x1", 2.0)]
        found = kinds(wrote("a", COMMITTED, X1), wrote("b", COMMITTED, X2), reads=[final(*swapped)])
        assert found == {Kind.REORDERED}

    @pytest.mark.parametrize("place", [X, Y], ids=["nobody wrote it", "in another partition"])
    def test_value_out_of_thin_air(self, place: tuple[str, int]):
        value = "x9" if place is X else "x1"
        found = kinds(
            wrote("a", COMMITTED, X1),
            reads=[final(AT_X0), read(Record(place, 7, value, 2.0))],
        )
        assert Kind.THIN_AIR in found


class TestReaders:
    def test_reader_that_goes_back(self):
        found = kinds(
            wrote("a", COMMITTED, X1, X2),
            reads=[read(AT_X0, AT_X1, AT_X0), final(AT_X0, AT_X1)],
        )
        assert found == {Kind.WENT_BACK}

    def test_live_reader_that_is_not_given_a_record_on_its_way(self):
        found = kinds(wrote("a", COMMITTED, X1, X2), reads=[read(AT_X1), final(AT_X0, AT_X1)])
        assert found == {Kind.MISSED_READ}

    def test_two_readers_that_find_different_logs(self):
        found = kinds(wrote("a", COMMITTED, X1, X2), reads=[final(AT_X0, AT_X1), final(AT_X0)])
        assert found == {Kind.MISSED_READ}

    def test_committed_record_that_read_uncommitted_is_not_given(self):
        found = kinds(wrote("a", COMMITTED, X1, X2), reads=[final(AT_X0, AT_X1), log(AT_X0)])
        assert found == {Kind.MISSED_READ}

    def test_unknown_commit_that_was_seen_and_is_gone(self):
        found = kinds(wrote("a", UNKNOWN, X1), reads=[read(AT_X0), final()])
        assert found == {Kind.SEEN_THEN_GONE}

    def test_record_that_gave_way_to_another(self):
        found = kinds(
            wrote("a", UNKNOWN, X1),
            wrote("b", COMMITTED, X2, writer="v"),
            reads=[read(AT_X0), final(Record(X, 0, "x2", 2.0))],
        )
        assert found == {Kind.SEEN_THEN_GONE}

    def test_uncommitted_record_that_was_seen_and_is_gone(self):
        uncommitted = Isolation.READ_UNCOMMITTED
        found = kinds(
            wrote("a", ABORTED, X1), reads=[read(AT_X0, isolation=uncommitted), final(), log()]
        )
        assert found == {Kind.SEEN_THEN_GONE}

    def test_partition_that_does_not_become_stable(self):
        found = kinds(wrote("a", ABORTED, X1), reads=[final()], ends=(End(X, 0, 1),))
        assert found == {Kind.HANGING}


class TestGroups:
    """Group `g` reads x (x1, x2) and makes o1, o2 of it, one transaction each."""

    inputs = wrote("in", COMMITTED, X1, X2, writer="v")
    first = wrote("1", COMMITTED, Append(OUT, "o1", "x1"), group="g", offsets=((X, 1),))
    second = wrote("2", COMMITTED, Append(OUT, "o2", "x2"), group="g", offsets=((X, 2),))
    outputs = (Record(OUT, 0, "o1", 2.0), Record(OUT, 1, "o2", 2.0))
    done = Position("g", X, 2, 3.0, is_final=True)

    def kinds(self, *transactions: Transaction, outputs=outputs, positions=(done,)) -> set[Kind]:
        reads = [final(AT_X0, AT_X1, *outputs)]
        return kinds(self.inputs, *transactions, reads=reads, positions=positions)

    def test_exactly_once_is_healthy(self):
        started = Position("g", X, 1, 2.0)
        assert not self.kinds(self.first, self.second, positions=(started, self.done))

    def test_unknown_transaction_that_did_not_happen_is_done_by_a_later_one(self):
        lost = replace(self.second, id="2?", outcome=UNKNOWN, appends=(Append(OUT, "o?", "x2"),))
        assert not self.kinds(self.first, lost, self.second)

    def test_input_that_two_transactions_processed(self):
        again = wrote("3", UNKNOWN, Append(OUT, "o3", "x2"), group="g", offsets=((X, 2),))
        outputs = (*self.outputs, Record(OUT, 2, "o3", 2.0))
        found = self.kinds(self.first, self.second, again, outputs=outputs)
        assert found == {Kind.PROCESSED_TWICE}

    def test_input_that_the_group_passed_over(self):
        found = self.kinds(self.second, outputs=(Record(OUT, 0, "o2", 2.0),))
        assert found == {Kind.SKIPPED_INPUT}

    def test_unknown_transaction_of_which_only_the_offsets_happened(self):
        unknown = replace(self.second, outcome=UNKNOWN)
        assert self.kinds(self.first, unknown, outputs=self.outputs[:1]) == {Kind.SKIPPED_INPUT}

    @pytest.mark.parametrize("outcome", [COMMITTED, UNKNOWN])
    def test_transaction_of_which_only_the_records_happened(self, outcome: Outcome):
        behind = replace(self.done, offset=1)
        second = replace(self.second, outcome=outcome)
        assert self.kinds(self.first, second, positions=(behind,)) == {Kind.TORN}

    def test_position_that_goes_back(self):
        positions = (
            replace(self.done, at=2.0, is_final=False),
            Position("g", X, 1, 2.5),
            self.done,
        )
        assert self.kinds(self.first, self.second, positions=positions) == {Kind.WENT_BACK}

    def test_position_that_is_told_before_its_transaction_commits(self):
        early = Position("g", X, 2, 0.5)
        found = self.kinds(self.first, self.second, positions=(early, self.done))
        assert found == {Kind.OPEN_READ}

    def test_output_made_from_an_aborted_input(self):
        aborted = wrote("x", ABORTED, Append(X, "x0"), writer="v")
        third = wrote("3", COMMITTED, Append(OUT, "o3", "x0"), group="g", offsets=((X, 2),))
        outputs = (*self.outputs, Record(OUT, 2, "o3", 2.0))
        found = self.kinds(self.first, self.second, aborted, third, outputs=outputs)
        assert found == {Kind.ABORTED_READ}

    def test_outputs_out_of_the_order_of_their_inputs(self):
        second = replace(self.second, writer="u")
        swapped = (Record(OUT, 0, "o2", 2.0), Record(OUT, 1, "o1", 2.0))
        assert self.kinds(self.first, second, outputs=swapped) == {Kind.REORDERED}


def test_every_kind_has_a_rule():
    assert {kind for kind, _ in RULES} == set(Kind)
