"""Planning of reads against a real broker: which offsets, in how many tasks. Spark is not needed for it."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from confluent_kafka import Producer

from bulk.reading import delete_before, produce
from headwater.bulk.ranges import OffsetRange, TopicPartition
from headwater.errors import InvalidRequest, NotFound
from headwater.streams.source.options import Pace, SourceOptions
from headwater.streams.source.plan import Pacing, Plan, limited, tasks
from headwater.testing import Broker

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


@pytest.fixture
def filled(broker: Broker) -> Broker:
    """Topic a has 10 and 5 records with times from 1000 on, topic b has none."""
    broker.create_topic("a", partitions=2, retention_ms=-1)
    broker.create_topic("b", retention_ms=-1)
    for partition, count in ((0, 10), (1, 5)):
        records = [
            {"value": b"v", "partition": partition, "timestamp": 1000 + at} for at in range(count)
        ]
        produce(broker.bootstrap, "a", records)
    return broker


@pytest.fixture
def plan(filled: Broker) -> Iterator[Callable[..., Plan]]:
    with ExitStack() as opened:

        def make(*, is_stream: bool = False, **given: str) -> Plan:
            address = {"kafka.bootstrap.servers": filled.bootstrap}
            options = SourceOptions.of({**address, **given}, is_stream=is_stream)
            return Plan(options, opened.enter_context(options.log.cluster()))

        yield make


def test_topics_by_name_by_pattern_and_by_partition(plan) -> None:
    assert plan(subscribe="a,b").partitions() == [A0, A1, B0]
    assert plan(subscribePattern="[ab]").partitions() == [A0, A1, B0]
    assert plan(subscribePattern="a.").partitions() == []
    assert plan(subscribePattern="^a$|c").partitions() == [A0, A1]
    assert plan(assign='{"a":[1]}').partitions() == [A1]


def test_a_pattern_may_match_anywhere_but_nothing_of_the_broker_itself(
    filled: Broker, plan
) -> None:
    filled.create_topic("alphabet")
    Producer(
        {"bootstrap.servers": filled.bootstrap, "transactional.id": "writer"}
    ).init_transactions()
    assert plan(subscribePattern="phab").partitions() == [("alphabet", 0)]
    assert plan(subscribePattern="state").partitions() == []
    assert plan(subscribePattern=".*").partitions() == [A0, A1, ("alphabet", 0), B0]


def test_a_pattern_does_not_match_the_dead_letters_of_a_typed_read(filled: Broker, plan) -> None:
    """Their own dead letters would match too, and so on without end."""
    filled.create_topic("a.dead")
    filled.create_topic("lost")
    assert plan(subscribePattern="a.*").partitions() == [A0, A1, ("a.dead", 0)]
    typed = {"valueSchema": "id INT", "deadLetterTopic": "lost"}
    assert plan(subscribePattern="a.*|lost", **typed).partitions() == [A0, A1]


def test_what_does_not_exist_is_said(plan) -> None:
    with pytest.raises(NotFound, match="topic 'nothing' does not exist"):
        plan(subscribe="a,nothing").partitions()
    with pytest.raises(NotFound, match="partition a-7 does not exist"):
        plan(assign='{"a":[1,7]}').partitions()


def test_where_a_read_begins_and_ends(filled: Broker, plan) -> None:
    assert plan(subscribe="a").start() == {A0: 0, A1: 0}
    assert plan(subscribe="a").end() == {A0: 10, A1: 5}
    assert plan(is_stream=True, subscribe="a").start() == {A0: 10, A1: 5}
    chosen = plan(
        subscribe="a",
        startingOffsets='{"a":{"0":3,"1":-2}}',
        endingOffsets='{"a":{"0":7,"1":-1}}',
    )
    assert (chosen.start(), chosen.end()) == ({A0: 3, A1: 0}, {A0: 7, A1: 5})
    beyond = {"subscribe": "a", "endingOffsets": '{"a":{"0":7,"1":6}}'}
    with pytest.raises(InvalidRequest, match="a-1 ends at 5, before 6"):
        plan(**beyond).end()
    assert plan(**beyond, failOnDataLoss="false").end() == {A0: 7, A1: 5}
    delete_before(filled.bootstrap, "a", 2)
    assert plan(subscribe="a").start() == {A0: 2, A1: 0}


def test_where_a_read_begins_and_ends_by_time(plan) -> None:
    timed = plan(subscribe="a", startingTimestamp="1003", endingTimestamp="1007")
    assert (timed.start(), timed.end()) == ({A0: 3, A1: 3}, {A0: 7, A1: 5})
    late = {"subscribe": "a", "startingOffsetsByTimestamp": '{"a":{"0":1003,"1":1007}}'}
    with pytest.raises(InvalidRequest, match="a-1 has no record at the time of startingOffsetsBy"):
        plan(**late).start()
    late["startingOffsetsByTimestampStrategy"] = "latest"
    assert plan(**late).start() == {A0: 3, A1: 5}


@pytest.mark.parametrize(
    ("offsets", "sentence"),
    [('{"a":{"0":1}}', "where to begin or end in a-1"), ('{"a":{"0":1,"1":1,"2":1}}', "names a-2")],
)
def test_offsets_name_every_partition_and_no_other(plan, offsets: str, sentence: str) -> None:
    with pytest.raises(InvalidRequest, match=sentence):
        plan(subscribe="a", startingOffsets=offsets).start()


@pytest.mark.parametrize("is_stream", [True, False])
def test_a_start_beyond_the_end_is_told_as_one(plan, is_stream: bool) -> None:
    beyond = plan(subscribe="a", startingOffsets='{"a":{"0":0,"1":1000}}', is_stream=is_stream)
    with pytest.raises(
        InvalidRequest, match="startingOffsets begins at 1000 in a-1, which ends at 5"
    ):
        beyond.start()
    at_the_end = plan(subscribe="a", startingOffsets='{"a":{"0":0,"1":5}}', is_stream=is_stream)
    assert at_the_end.start() == {A0: 0, A1: 5}


def test_a_limit_is_shared_out_by_size_and_starves_nobody() -> None:
    starts = {A0: 0, A1: 100, B0: 0}
    ends = {A0: 1000, A1: 101, B0: 0}
    assert limited(starts, ends, 2000) == ends
    assert limited(starts, ends, 100) == {A0: 99, A1: 101, B0: 0}
    assert limited(starts, ends, 1) == {A0: 1, A1: 101, B0: 0}


def pace(min_partitions: int | None = None, max_records: int | None = None) -> Pace:
    return Pace(None, None, 0, min_partitions, max_records)


def test_ranges_are_cut_into_tasks() -> None:
    ranges = [OffsetRange("a", 0, 0, 90), OffsetRange("a", 1, 5, 15), OffsetRange("b", 0, 3, 3)]
    whole = ranges[:2]
    assert tasks(ranges, pace()) == whole
    assert tasks(ranges, pace(min_partitions=2)) == whole
    cut = tasks(ranges, pace(min_partitions=10))
    assert [each.size for each in cut] == [10] * 10
    assert [each.size for each in tasks(ranges, pace(max_records=40))] == [30, 30, 30, 10]
    assert sum(each.size for each in tasks(ranges, pace(min_partitions=1000))) == 100


def test_a_stream_waits_until_a_batch_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    pacing = Pacing(Pace(None, 10, 60_000, None, None))
    assert not pacing.is_worth_it({A0: 0}, {A0: 9})
    assert pacing.is_worth_it({A0: 0}, {A0: 10})
    now_s += 61
    assert pacing.is_worth_it({A0: 0}, {A0: 1})
    assert not pacing.is_worth_it({A0: 1}, {A0: 2})
