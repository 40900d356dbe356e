"""The crash matrix of the sink: whatever dies at whatever point, every row is in the topic once.

The same on our broker and on Apache Kafka (`--broker kafka`). Tasks and drivers are processes, killed.
"""

import os
import signal
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from bulk.reading import values, whole
from conformance.calls import eventually
from headwater.bulk.cluster import Cluster
from headwater.bulk.ranges import Isolation
from headwater.bulk.reader import BulkReader
from headwater.client.address import find_address
from headwater.errors import Conflict, Fenced, HeadwaterError, Unavailable
from headwater.streams.sink import task_writer
from headwater.streams.sink.atomic_writer import stage_task
from headwater.streams.sink.finishing import finish_batch
from headwater.streams.sink.marker import Marker, Writer
from headwater.streams.sink.transaction import Transactions
from rigs.client_fixtures import client, new_topic, topic
from streams.sink_attempts import PART_POINTS, STAGED_POINTS, TASK_POINTS, Attempt

__all__ = ["client", "new_topic", "topic"]

VALUES = [[b"a0", b"a1"], [b"b0", b"b1"], [b"c0"]]
ALL = [b"a0", b"a1", b"b0", b"b1", b"c0"]


@pytest.fixture
def cluster(bootstrap: str) -> Iterator[Cluster]:
    with Cluster(find_address(bootstrap).endpoints) as connected:
        yield connected


@pytest.fixture
def attempt(bootstrap: str, topic: str) -> Attempt:
    return Attempt(bootstrap, topic, query_id=uuid.uuid4().hex, values=VALUES)


@pytest.fixture
def written(cluster: Cluster, topic: str) -> Callable[[], list[bytes]]:
    """What readers see, once no transaction is open any more."""

    def read() -> list[bytes]:
        everything = partial(whole, cluster, topic, isolation=Isolation.READ_UNCOMMITTED)
        eventually(lambda: whole(cluster, topic) == everything())
        return values(BulkReader(cluster), whole(cluster, topic))

    return read


class TestTask:
    @pytest.mark.parametrize("point", TASK_POINTS)
    def test_a_task_killed_at_any_point_writes_once(self, attempt, written, point: str) -> None:
        attempt.again(dies=point).run_and_die()
        attempt.run()
        assert written() == ALL
        attempt.run()  # and once more: the message of success was lost
        assert written() == ALL

    @pytest.mark.parametrize("point", PART_POINTS)
    def test_a_long_task_killed_between_its_parts_goes_on_with_the_rest(
        self, attempt, written, point: str
    ) -> None:
        attempt.again(dies=point, parts=True).run_and_die()
        attempt.run()
        assert written() == ALL

    def test_parts_that_come_in_another_order_are_refused(self, attempt, written) -> None:
        attempt.again(dies="after a part", parts=True).run_and_die()
        with pytest.raises(Conflict, match="comes again with other rows"):
            attempt.again(values=VALUES[::-1]).run()
        with pytest.raises(Conflict, match="comes again with other rows"):
            attempt.again(values=VALUES[:1]).run()
        assert written() == ALL[:4], "nothing was added"

    def test_other_rows_than_those_written_are_refused(self, attempt, written) -> None:
        """rand(), or another number of tasks: rows would be lost or doubled in silence."""
        attempt.run()
        with pytest.raises(Conflict, match=r"task 0 has written before \(5 then, 4 now"):
            attempt.again(values=VALUES[:2]).run()
        with pytest.raises(Conflict, match="other contents"):
            attempt.again(values=[*VALUES[:2], [b"XX"]]).run()
        attempt.again(values=VALUES[::-1]).run()  # a shuffle may change the order
        assert written() == ALL

    def test_a_speculative_twin_does_not_double(self, attempt, written) -> None:
        twins = [attempt.start() for _ in range(3)]
        for each in twins:
            each.join(60)
        assert {each.exitcode for each in twins} <= {0, 3}, "done, or fenced"
        attempt.run()
        assert written() == ALL

    def test_a_zombie_of_an_earlier_attempt_is_fenced(self, attempt, written) -> None:
        zombie = Transactions(attempt.sink_options().log, Writer(attempt.query_id, attempt.task))
        zombie.write(next(iter(_records(attempt))))
        attempt.run()
        with pytest.raises(HeadwaterError) as raised, zombie:
            zombie.commit(Marker(1, task_writer.Fingerprint()), attempt.topic)
        assert isinstance(raised.value, Fenced)
        assert written() == ALL

    def test_a_task_that_sleeps_through_its_transaction_writes_once(
        self, attempt, written, cluster: Cluster, topic: str
    ) -> None:
        sleepy = attempt.again(
            stops="before it commits", options={"kafka.transaction.timeout.ms": "1000"}
        )
        process = sleepy.start()
        assert process.pid is not None
        eventually(lambda: _is_stopped(process.pid))
        end = whole(cluster, topic, isolation=Isolation.READ_UNCOMMITTED).end
        eventually(lambda: whole(cluster, topic).end > end, within_s=60)  # the broker aborted it
        os.kill(process.pid, signal.SIGCONT)
        process.join(90)
        assert process.exitcode == 3, "it noticed"
        attempt.run()
        assert written() == ALL

    def test_batches_follow_each_other(self, attempt, written) -> None:
        attempt.run()
        finish_batch(attempt.sink_options(), Writer(attempt.query_id), 0, {0: len(ALL)})
        attempt.again(batch_id=1, values=[[b"next"]]).run()
        assert written() == [*ALL, b"next"]

    def test_tasks_do_not_disturb_each_other(self, attempt, written) -> None:
        attempt.again(dies="before it commits").run_and_die()
        attempt.again(task=1, values=[[b"other"]]).run()
        attempt.run()
        assert sorted(written()) == sorted([*ALL, b"other"])

    def test_no_rows_leave_no_trace(self, attempt, written) -> None:
        attempt.again(values=[]).run()
        attempt.run()
        assert written() == ALL


class TestCheckpoint:
    def test_a_new_checkpoint_writes_anew(self, attempt, written) -> None:
        """Its query has another id, whatever its name: nothing of it is skipped."""
        attempt.run()
        attempt.again(query_id=uuid.uuid4().hex).run()
        assert written() == ALL * 2

    def test_a_checkpoint_put_back_to_an_older_state_is_refused(self, attempt, written) -> None:
        attempt.run()
        finish_batch(attempt.sink_options(), Writer(attempt.query_id), 0, {0: len(ALL)})
        for batch_id in (1, 2):
            attempt.again(batch_id=batch_id, values=[[b"%d" % batch_id]]).run()
        with pytest.raises(Conflict, match="the checkpoint is older than what was written"):
            attempt.again(batch_id=1, values=[[b"other"]]).run()
        assert written() == [*ALL, b"1", b"2"]

    def test_a_checkpoint_that_lost_the_id_of_its_query_is_refused(self, attempt, written) -> None:
        """Spark makes a new id; batch 5 may or may not have been written under the old one."""
        stranger = attempt.again(batch_id=5)
        with pytest.raises(Conflict, match="nobody can tell whether the batch was written"):
            stranger.run()
        assert written() == []
        stranger.again(options={"onMissingMarker": "write"}).run()
        assert written() == ALL

    def test_a_task_that_had_no_rows_before_is_no_stranger(self, attempt, written) -> None:
        for batch_id in range(3):
            finish_batch(attempt.sink_options(), Writer(attempt.query_id), batch_id, {0: 0})
        attempt.again(batch_id=3).run()
        assert written() == ALL


class TestAtomicBatch:
    @pytest.fixture
    def staged(self, attempt: Attempt, tmp_path: Path) -> Attempt:
        """Two tasks have staged their rows; the driver is about to commit."""
        atomic = attempt.again(options={"atomic": "true", "stagingDirectory": str(tmp_path)})
        return atomic.again(staged=stage(atomic, VALUES[:2], VALUES[2:]))

    @pytest.mark.parametrize("point", [*TASK_POINTS[1:], *STAGED_POINTS])
    def test_a_driver_killed_at_any_point_commits_once(
        self, staged, written, tmp_path: Path, point: str
    ) -> None:
        staged.again(dies=point).run_and_die()
        again = staged.again(staged=stage(staged, VALUES[:2], VALUES[2:]))
        again.run()
        assert written() == ALL
        assert list(tmp_path.iterdir()) == [], "what the dead driver left is gone too"

    def test_what_was_committed_first_counts(self, staged, written) -> None:
        staged.run()
        staged.again(staged=stage(staged, [[b"other rows this time"]])).run()
        assert written() == ALL

    def test_commit_may_be_called_twice(self, staged, written) -> None:
        staged.run()
        staged.run()
        assert written() == ALL

    def test_readers_see_a_batch_whole_or_not_at_all(self, staged, written, cluster, topic) -> None:
        staged.again(dies="before it commits").run_and_die()
        assert values(BulkReader(cluster), whole(cluster, topic)) == []
        staged.again(staged=stage(staged, VALUES)).run()
        assert written() == ALL

    def test_a_dead_attempt_of_a_task_does_not_count(self, staged, written) -> None:
        stage(staged, [[b"of an attempt whose message never came"]])
        staged.run()
        assert written() == ALL

    def test_an_empty_batch_is_marked_too(self, staged, written) -> None:
        staged.again(staged=()).run()
        leave = staged.again(batch_id=1)
        leave.again(staged=stage(leave, VALUES)).run()
        assert written() == ALL

    def test_a_full_disk_fails_the_task_and_nothing_is_lost(self, staged, written) -> None:
        full = staged.again(options={"atomic": "true", "stagingDirectory": "/dev/full/x"})
        with pytest.raises(Unavailable, match="cannot stage rows in /dev/full"):
            stage(full, VALUES)
        staged.run()
        assert written() == ALL


def stage(attempt: Attempt, *tasks: list[list[bytes]]) -> list[str]:
    """Stage the rows of each task; returns what the driver would be told."""
    options = attempt.sink_options()
    found = [
        stage_task(
            attempt.again(values=each).rows(),
            options,
            Writer(attempt.query_id, task),
            attempt.batch_id,
        )
        for task, each in enumerate(tasks)
    ]
    return [each for each in found if each is not None]


def _records(attempt: Attempt):
    return (task_writer.records_of(each, attempt.sink_options()) for each in attempt.rows())


def _is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
