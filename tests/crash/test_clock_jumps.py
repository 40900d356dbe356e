"""The wall clock jumps, as NTP or an operator may do: no record goes too early, no member is thrown out."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from headwater.log import retention
from headwater.log.partition import PartitionLog
from headwater.log.settings import DAY_MS, HOUR_MS, LogSettings
from headwater.testing import Broker, SettableClock
from headwater.testing.power_cut import RecordingDisk
from log.batches import Sender, batch, read_all, values

START_MS = 1_700_000_000_000


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START_MS)


@pytest.fixture
def log(tmp_path: Path, clock: SettableClock) -> PartitionLog:
    settings = LogSettings(segment_bytes=200, retention_ms=DAY_MS)
    log = PartitionLog.open(RecordingDisk(tmp_path), tmp_path / "orders-0", settings, clock)
    for each in range(6):
        log.append(batch(values(str(each)), time_ms=clock.now_ms()))
        clock.advance(seconds=1)
    log.sync()
    return log


@pytest.mark.parametrize("jump_ms", [-10 * DAY_MS, -HOUR_MS, HOUR_MS])
def test_retention_deletes_nothing_when_the_clock_jumps_within_its_time_or_backwards(
    log: PartitionLog, clock: SettableClock, jump_ms: int
) -> None:
    clock.jump_to(START_MS + jump_ms)

    assert retention.expire(log, clock.now_ms()) is None
    assert len(read_all(log)) == 6


def test_records_written_while_the_clock_was_behind_follow_in_order(
    log: PartitionLog, clock: SettableClock
) -> None:
    clock.jump_to(START_MS - 10 * DAY_MS)
    for each in range(6, 9):
        assert log.append(batch(values(str(each)), time_ms=clock.now_ms())).base_offset == each
    log.sync()

    assert [each.value for each in read_all(log)] == [str(each).encode() for each in range(9)]
    clock.jump_to(START_MS + HOUR_MS)
    removal = retention.expire(log, clock.now_ms())
    assert removal is None, "older records behind newer ones wait for their turn"


def test_producer_is_remembered_whatever_its_timestamps_and_the_clock_say(
    tmp_path: Path, clock: SettableClock
) -> None:
    with Broker(data=tmp_path / "data", clock=clock) as broker:

        async def run() -> list[bool]:
            embedded = broker.embedded
            topic = await embedded.topics.create("orders", 1, {})
            log = topic.partitions[0].log
            sent = batch(values("old"), Sender(7, 0, 0), time_ms=1)
            answers = [log.append(sent).is_duplicate]
            for jump_ms in (-10 * DAY_MS, 10 * DAY_MS):
                clock.jump_to(START_MS + jump_ms)
                await embedded._housekeeping.expire()
                answers.append(log.append(sent).is_duplicate)
            clock.advance(seconds=10 * 86_400)
            await embedded._housekeeping.expire()
            return [*answers, log.append(sent).is_duplicate]

        assert broker.call(run) == [False, True, True, False]


@pytest.fixture
def broker(tmp_path: Path, clock: SettableClock) -> Iterator[Broker]:
    with Broker(data=tmp_path / "data", clock=clock, retention_check_ms=20) as running:
        yield running


@pytest.mark.parametrize("jump_ms", [-30 * DAY_MS, 30 * DAY_MS])
def test_group_members_live_by_the_monotonic_clock(
    broker: Broker, clock: SettableClock, jump_ms: int
) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce("orders", "first", timestamp=START_MS)
    producer.flush()
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["orders"])
    message = consumer.poll(20)
    assert message is not None

    clock.jump_to(START_MS + jump_ms)

    async def members() -> int:
        broker.embedded.groups.tick()
        group = broker.embedded.groups.find("g")
        assert group is not None
        return len(list(group.roster))

    assert broker.call(members) == 1
    consumer.commit(message=message, asynchronous=False)
    consumer.close()
