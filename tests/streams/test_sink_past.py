"""What a writer finds of its past: markers that expired, stand at another topic, or tell of a part."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from headwater.errors import Conflict, NotFound, Unavailable
from headwater.streams.sink import task_writer
from headwater.streams.sink.atomic_writer import commit_batch, stage_task
from headwater.streams.sink.finishing import finish_batch
from headwater.streams.sink.marker import Writer
from headwater.streams.sink.options import SinkOptions
from headwater.streams.sink.task_writer import write_task
from headwater.testing import Broker, SettableClock

DAY_S = 86_400


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def broker(clock: SettableClock) -> Iterator[Broker]:
    with Broker(clock=clock) as started:
        for name in ("a", "b"):
            started.create_topic(name, retention_ms=-1)
        yield started


def options(broker: Broker, **given: str) -> SinkOptions:
    return SinkOptions.of({"kafka.bootstrap.servers": broker.bootstrap, **given}, is_stream=True)


def rows(*values: str, topic: str | None = None) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            "value": [each.encode() for each in values],
            "topic": pa.array([topic] * len(values), pa.string()),
        }
    )


def task(number: int) -> Writer:
    return Writer("query", number)


def finish(sink: SinkOptions, batch_id: int, *tasks: int, run: str | None = None) -> None:
    """A batch in which these tasks have a row."""
    rows_of = {
        number: write_task([rows(f"[{batch_id},{number}]")], sink, task(number), batch_id)
        for number in tasks
    }
    finish_batch(sink, task(0).whole, batch_id, rows_of, run)


def looks_at_offsets(broker: Broker) -> int:
    counted = broker.embedded.traffic.apis.get("OffsetFetch")
    return counted.requests if counted else 0


def write_as_a_whole(of_batch: pa.RecordBatch, atomic: SinkOptions, batch_id: int) -> None:
    """An atomic batch that one task has staged."""
    staged = stage_task([of_batch], atomic, task(0), batch_id)
    assert staged is not None
    commit_batch([staged], atomic, task(0).whole, batch_id, tasks=1)


class TestTwoQueriesOfOneCheckpoint:
    def test_a_second_one_with_another_topic_does_not_skip_what_the_first_one_wrote(
        self, broker: Broker
    ) -> None:
        first, second = (options(broker, topic=each) for each in ("a", "b"))
        finish(first, 0, 0)
        finish(first, 1, 0)
        for batch_id in (1, 2):
            with pytest.raises(Conflict, match="has written to 'a' before, not to 'b'"):
                write_task([rows(f"[{batch_id},0]")], second, task(0), batch_id)
        finish(first, 2, 0)
        assert broker.topic("a").values() == [[0, 0], [1, 0], [2, 0]]
        assert broker.topic("b").values() == []

    def test_a_task_that_is_new_is_refused_by_the_sign_of_the_first(self, broker: Broker) -> None:
        finish(options(broker, topic="a"), 0, 0)
        second = options(broker, topic="b")
        with pytest.raises(Conflict, match="has written to 'a' before, not to 'b'"):
            write_task([rows("1")], second, task(7), 1)
        with pytest.raises(Conflict, match="has written to 'a' before, not to 'b'"):
            finish_batch(second, task(0).whole, 1, {0: 0})
        assert broker.topic("b").values() == []

    def test_rows_that_name_their_topics_go_from_one_to_another(self, broker: Broker) -> None:
        sink = options(broker, defaultTopic="a")
        finish(sink, 0, 0)
        write_task([rows("1", topic="b")], sink, task(0), 1)
        finish_batch(sink, task(0).whole, 1, {0: 1})
        finish(sink, 2, 0)
        assert broker.topic("a").values() == [[0, 0], [2, 0]]
        assert broker.topic("b").values() == [1]


class TestExpiredMarkers:
    @pytest.fixture
    def sink(self, broker: Broker) -> SinkOptions:
        return options(broker, topic="a")

    @pytest.mark.parametrize("on_missing", ["fail", "write"])
    def test_an_older_checkpoint_does_not_double_the_rows_of_tasks_that_were_idle_since(
        self, broker: Broker, clock: SettableClock, on_missing: str
    ) -> None:
        sink = options(broker, topic="a", onMissingMarker=on_missing)
        finish(sink, 0, 0, 1, 2)
        for batch_id in range(1, 10):
            clock.advance(seconds=DAY_S)
            finish(sink, batch_id, 0)
        before = broker.topic("a").values()
        for batch_id in (0, 1, 9):
            for number in (1, 2):
                with pytest.raises(Conflict, match="finished 10 batches"):
                    write_task([rows("9")], sink, task(number), batch_id)
        assert broker.topic("a").values() == before

    def test_an_older_checkpoint_whose_batch_has_rows_for_another_task_now_is_refused(
        self, broker: Broker, sink: SinkOptions
    ) -> None:
        """It reads up to the present end of each partition, so a task has what others wrote later."""
        finish(sink, 0, 0, 1)
        for batch_id in (1, 2):
            finish(sink, batch_id, 0)
        before = broker.topic("a").values()
        with pytest.raises(Conflict, match="finished 3 batches"):
            write_task([rows("[2,0]")], sink, task(1), 1)
        assert broker.topic("a").values() == before

    def test_a_batch_that_was_finished_comes_again_and_tasks_without_rows_stay_silent(
        self, broker: Broker, sink: SinkOptions
    ) -> None:
        for _ in range(2):
            write_task([], sink, task(1), 0)
            finish(sink, 0, 0)
        assert broker.topic("a").values() == [[0, 0]]

    def test_a_query_that_stood_still_is_refused_unless_told_otherwise(
        self, broker: Broker, clock: SettableClock, sink: SinkOptions
    ) -> None:
        finish(sink, 0, 0)
        clock.advance(seconds=8 * DAY_S)
        with pytest.raises(Conflict, match="nobody can tell whether the batch was written"):
            write_task([rows("1")], sink, task(0), 1)
        write_task([rows("1")], options(broker, topic="a", onMissingMarker="write"), task(0), 1)
        assert broker.topic("a").values() == [[0, 0], 1]

    def test_a_topic_that_was_deleted_is_not_made_anew_by_one_that_writes_without_marker(
        self, broker: Broker
    ) -> None:
        sink = options(broker, topic="gone", onMissingMarker="write")
        with pytest.raises(NotFound, match="does not exist any more"):
            write_task([rows("1")], sink, task(0), 1)

    def test_a_batch_that_was_finished_task_by_task_is_not_written_again_as_a_whole(
        self, broker: Broker, sink: SinkOptions, tmp_path: Path
    ) -> None:
        finish(sink, 0, 0)
        atomic = options(broker, topic="a", atomic="true", stagingDirectory=str(tmp_path))
        for batch_id in (0, 1):
            write_as_a_whole(rows(f"[{batch_id},0]"), atomic, batch_id)
        assert broker.topic("a").values() == [[0, 0], [1, 0]]
        with pytest.raises(Conflict, match="finished 2 batches"):
            write_task([rows("[1,0]")], sink, task(1), 1)

    @pytest.mark.parametrize("was_atomic", [False, True])
    def test_a_batch_that_tasks_have_begun_is_not_doubled_by_setting_atomic(
        self, broker: Broker, sink: SinkOptions, tmp_path: Path, was_atomic: bool
    ) -> None:
        """Also if there are fewer of them now."""
        atomic = options(broker, topic="a", atomic="true", stagingDirectory=str(tmp_path))
        if was_atomic:
            write_as_a_whole(rows("[0,0]"), atomic, 0)
        else:
            finish(sink, 0, 0)
        write_task([rows("[1,1]")], sink, task(1), 1)
        with pytest.raises(Conflict, match="task 1 has written rows of batch 1 already"):
            write_as_a_whole(rows("[1,0]", "[1,1]"), atomic, 1)
        assert broker.topic("a").values() == [[0, 0], [1, 1]]

    @pytest.mark.parametrize("topic", ["a", None])
    def test_a_batch_that_is_written_as_a_whole_is_not_doubled_by_unsetting_atomic(
        self, broker: Broker, tmp_path: Path, topic: str | None
    ) -> None:
        """Also if its rows name their topics themselves."""
        given = {} if topic is None else {"topic": topic}
        atomic = options(broker, atomic="true", stagingDirectory=str(tmp_path), **given)
        write_as_a_whole(rows("0", topic="a"), atomic, 0)
        sink = options(broker, **given)
        with pytest.raises(Conflict, match=r"batch 0 comes again, but .* finished 1 batches"):
            write_task([rows("0", topic="a")], sink, task(0), 0)
        write_task([rows("1", topic="a")], sink, task(0), 1)
        assert broker.topic("a").values() == [0, 1]

    def test_rows_that_were_compacted_away_since_are_an_error_that_says_so(
        self, sink: SinkOptions
    ) -> None:
        write_task([rows("1", "2")], sink, task(0), 0)
        with pytest.raises(Conflict, match="was compacted or expired in between") as raised:
            write_task([rows("2")], sink, task(0), 0)
        assert "headwater pipeline reset" in raised.value.hint
        assert "atomic=true" in raised.value.hint


class TestOtherTasks:
    """A batch is cut short after one of its tasks, and comes again in others: nobody meets that marker."""

    @pytest.mark.parametrize("finished", [0, 1])
    def test_fewer_tasks_do_not_double_rows_in_silence(self, broker: Broker, finished: int) -> None:
        sink = options(broker, topic="a")
        for batch_id in range(finished):
            finish(sink, batch_id, 0, 1, 2, 3)
        write_task([rows("3")], sink, task(3), finished)
        rows_of = {
            number: write_task([rows(*values)], sink, task(number), finished)
            for number, values in enumerate([("0", "1"), ("2", "3")])
        }
        for _ in range(2):
            with pytest.raises(Conflict, match=r"task 3 has written 1 rows of it .* second time"):
                finish_batch(sink, task(0).whole, finished, rows_of)

    @pytest.mark.parametrize("next_run", ["b", None])
    def test_nor_do_they_in_the_first_batch_of_another_run(
        self, broker: Broker, next_run: str | None
    ) -> None:
        sink = options(broker, topic="a")
        finish(sink, 0, 0, 1, run="a")
        write_task([rows("3")], sink, task(1), 1)
        rows_of = {0: write_task([rows("2", "3")], sink, task(0), 1)}
        with pytest.raises(Conflict, match="task 1 has written 1 rows"):
            finish_batch(sink, task(0).whole, 1, rows_of, next_run)

    def test_a_run_does_not_look_for_others_behind_its_own_batches(self, broker: Broker) -> None:
        sink = options(broker, topic="a")
        looks = []
        for batch_id in range(3):
            before = looks_at_offsets(broker)
            finish_batch(sink, task(0).whole, batch_id, {0: 0}, "a")
            looks.append(looks_at_offsets(broker) - before)
        assert looks == [2, 1, 1]

    def test_nor_does_a_task_whose_rows_others_have_now(self, broker: Broker) -> None:
        sink = options(broker, topic="a")
        write_task([rows("0")], sink, task(0), 0)
        rows_of = {
            0: write_task([], sink, task(0), 0),
            1: write_task([rows("0")], sink, task(1), 0),
        }
        with pytest.raises(Conflict, match="task 0 has written 1 rows"):
            finish_batch(sink, task(0).whole, 0, rows_of)

    def test_tasks_may_become_fewer_and_idle_from_batch_to_batch(self, broker: Broker) -> None:
        sink = options(broker, topic="a")
        for batch_id, tasks in enumerate([(0, 1, 2), (1,), (), (0, 3), (0,)]):
            for _ in range(2):  # the last commit was not written down
                finish(sink, batch_id, *tasks)
        assert len(broker.topic("a").values()) == 7


class TestParts:
    @pytest.mark.parametrize(("before", "now"), [("a", "b"), ("b", "a")])
    def test_a_part_that_begins_in_another_topic_is_not_written_twice(
        self, broker: Broker, monkeypatch: pytest.MonkeyPatch, before: str, now: str
    ) -> None:
        """As in every table that sets rows aside: the first row of a batch says where its marker is."""
        monkeypatch.setattr(task_writer, "LONGEST_PART_S", -1.0)
        sink = options(broker)
        write_task([rows("0", topic=before)], sink, task(0), 0)
        with pytest.raises(ConnectionError):
            write_task(cut_off(rows("1", topic=now)), sink, task(0), 1)
        write_task([rows("1", topic=now), rows("2", topic=now)], sink, task(0), 1)
        assert broker.topic(before).values() == [0]
        assert broker.topic(now).values() == [1, 2]

    def test_rows_that_come_slowly_are_committed_before_the_broker_gives_up(
        self, broker: Broker, clock: SettableClock
    ) -> None:
        seen = []

        def slow() -> Iterator[pa.RecordBatch]:
            for each in range(3):
                seen.append(broker.topic("a").values())
                clock.advance(seconds=400)
                yield rows(f"{each}")

        assert write_task(slow(), options(broker, topic="a"), task(0), 0, clock) == 3
        assert seen == [[], [0], [0, 1]]
        assert broker.topic("a").values() == [0, 1, 2]

    def test_a_transaction_that_was_open_too_long_says_so(
        self, broker: Broker, clock: SettableClock
    ) -> None:
        def suddenly_slow() -> Iterator[pa.RecordBatch]:
            yield rows("0")
            clock.advance(seconds=400)
            yield rows("1")

        with pytest.raises(Unavailable, match=r"open for 400 s, longer than .*timeout.ms"):
            write_task(suddenly_slow(), options(broker, topic="a"), task(0), 0, clock)
        assert broker.topic("a").values() == []


def cut_off(first: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    yield first
    raise ConnectionError
