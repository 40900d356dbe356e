"""Group commit: who waits for a sync, who does not, and what a failed one means."""

import asyncio
import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from broker.calls import (
    LONG_MS,
    create_topic,
    fetch,
    fetch_data,
    produce,
    produce_data,
    set_configs,
    wait_until,
)
from broker.slow_disk import SlowDisk
from conformance.batches import batch
from conformance.raw import Connection
from headwater.broker import committer
from headwater.broker.committer import SYNC_THREADS
from headwater.broker.handlers.fetch import ANSWER_BESIDE_PRODUCERS_BYTES
from headwater.broker.outbox import WRITE_BUFFER_BYTES, Reply
from headwater.broker.partition import Partition
from headwater.log.disk import File
from headwater.testing import Broker

STORAGE_ERROR = 56


class BreakingDisk(SlowDisk):
    """Syncs of a partition's files fail once it is told so."""

    def __init__(self) -> None:
        super().__init__()
        self.is_broken = False

    def open(self, path: Path, *, create: bool = True) -> File:
        file = super().open(path, create=create)
        sync = file.sync

        def break_or_sync() -> None:
            if self.is_broken and path.parent.name.startswith("orders"):
                raise OSError(errno.EIO, "Input/output error")
            sync()

        file.sync = break_or_sync  # type: ignore[method-assign]
        return file


@pytest.fixture
def disk() -> Iterator[BreakingDisk]:
    made = BreakingDisk()
    yield made
    made.release()


@pytest.fixture
def broker(disk: BreakingDisk) -> Iterator[Broker]:
    with Broker(disk=disk, flush_ms=60_000) as started:
        create_topic(started, "orders")
        yield started
        disk.release()


def partition_of(broker: Broker) -> Partition:
    topic = broker.embedded.topics.get("orders")
    assert topic is not None
    return topic.partitions[0]


@contextmanager
def a_producer_that_waits(broker: Broker, disk: BreakingDisk) -> Iterator[None]:
    """Meanwhile one waits for its sync; afterwards it has its answer."""
    with Connection(broker.bootstrap) as producer:
        disk.hold()
        producer.send("produce", 9, **produce_data("orders", batch(b"1")))
        assert disk.is_waiting.wait(30)
        yield
        disk.release()
        producer.receive()


def test_acks_all_is_answered_after_the_sync_and_not_before(
    broker: Broker, disk: BreakingDisk
) -> None:
    partition = partition_of(broker)
    disk.hold()
    with Connection(broker.bootstrap) as connection:
        connection.send("produce", 9, **produce_data("orders", batch(b"1")))
        assert disk.is_waiting.wait(30)
        assert (partition.log.next_offset, partition.log.high_watermark) == (1, 0)
        with Connection(broker.bootstrap) as reader:
            assert fetch(reader, "orders").records == b""
        disk.release()
        assert connection.receive().responses[0].partition_responses[0].error_code == 0
    assert partition.log.high_watermark == 1


def test_what_arrives_during_a_sync_shares_the_next_one(broker: Broker, disk: BreakingDisk) -> None:
    with Connection(broker.bootstrap) as connection:
        produce(connection, "orders", batch(b"first"))
        disk.hold()
        connection.send("produce", 9, **produce_data("orders", batch(b"1")))
        assert disk.is_waiting.wait(30)
        syncs = broker.embedded.committer.syncs
        for _ in range(20):
            connection.send("produce", 9, **produce_data("orders", batch(b"n")))
        wait_until(broker, lambda: partition_of(broker).log.next_offset == 22)
        disk.release()
        for _ in range(21):
            assert connection.receive().responses[0].partition_responses[0].error_code == 0
    assert broker.embedded.committer.syncs - syncs == 2


def is_durable_at_once(broker: Broker) -> bool:
    async def ask() -> bool:
        return broker.embedded.committer.commit(partition_of(broker)).done()

    return broker.call(ask)


def test_what_is_synced_already_costs_no_sync(broker: Broker) -> None:
    with Connection(broker.bootstrap) as connection:
        produce(connection, "orders", batch(b"1"))
    syncs = broker.embedded.committer.syncs
    assert is_durable_at_once(broker)
    assert broker.embedded.committer.syncs == syncs


def test_nobody_is_told_that_a_batch_is_durable_while_it_is_being_synced(
    broker: Broker, disk: BreakingDisk
) -> None:
    with a_producer_that_waits(broker, disk):
        assert not partition_of(broker).log.has_unsynced
        assert not is_durable_at_once(broker)
    assert is_durable_at_once(broker)


def test_a_long_answer_makes_way_for_a_producer_that_waits(
    broker: Broker, disk: BreakingDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = 0
    turns_of_pieces = []
    next_piece = Reply.next_piece

    def count_turns(loop: asyncio.AbstractEventLoop) -> None:
        nonlocal turns
        turns += 1
        loop.call_soon(count_turns, loop)

    async def begin_to_count() -> None:
        count_turns(asyncio.get_running_loop())

    def note_turn(reply: Reply) -> bytes | memoryview:
        if reply.size > WRITE_BUFFER_BYTES:
            turns_of_pieces.append(turns)
        return next_piece(reply)

    create_topic(broker, "backlog", max_message_bytes="4000000")
    with Connection(broker.bootstrap) as reader:
        produce(reader, "backlog", batch(b"x" * 2_700_000))
        monkeypatch.setattr(Reply, "next_piece", note_turn)
        broker.call(begin_to_count)
        with a_producer_that_waits(broker, disk):
            assert len(fetch(reader, "backlog").records) > 2_700_000
    assert len(turns_of_pieces) > 2
    assert len(set(turns_of_pieces)) == len(turns_of_pieces)


def test_an_answer_right_after_a_sync_is_short(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_topic(broker, "backlog")
    monkeypatch.setattr(committer, "MOMENT_S", 3600)
    with Connection(broker.bootstrap) as reader:
        for _ in range(8):
            produce(reader, "backlog", batch(b"x" * 300_000))
        short = fetch(reader, "backlog").records
    assert 900_000 < len(short) <= ANSWER_BESIDE_PRODUCERS_BYTES


@pytest.mark.usefixtures("no_producers_about")
def test_an_answer_beside_a_waiting_producer_is_short(broker: Broker, disk: BreakingDisk) -> None:
    create_topic(broker, "backlog")
    with Connection(broker.bootstrap) as reader:
        for _ in range(8):
            produce(reader, "backlog", batch(b"x" * 300_000))
        assert len(fetch(reader, "backlog").records) > 2_400_000
        with a_producer_that_waits(broker, disk):
            short = fetch(reader, "backlog").records
    assert 900_000 < len(short) <= ANSWER_BESIDE_PRODUCERS_BYTES


def test_who_reads_much_waits_for_producers_and_who_reads_little_does_not(
    broker: Broker, disk: BreakingDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committer, "PATIENCE_S", 3600)
    create_topic(broker, "backlog")
    create_topic(broker, "few")
    with Connection(broker.bootstrap) as reader, Connection(broker.bootstrap) as other:
        produce(reader, "backlog", batch(b"x" * 300_000))
        produce(reader, "few", batch(b"x" * 1000))
        with a_producer_that_waits(broker, disk):
            reader.send("fetch", 11, **fetch_data("backlog"))
            assert len(fetch(other, "few").records) > 1000
            assert not reader.has_answer()
        assert len(reader.receive().responses[0].partitions[0].records) > 300_000


def test_a_disk_that_hangs_stops_no_reader(broker: Broker, disk: BreakingDisk) -> None:
    create_topic(broker, "backlog")
    with Connection(broker.bootstrap) as reader:
        produce(reader, "backlog", batch(b"x" * 300_000))
        with a_producer_that_waits(broker, disk):
            assert len(fetch(reader, "backlog").records) > 300_000


def test_acks_one_is_answered_at_once_and_synced_within_its_time() -> None:
    with Broker(flush_ms=20) as broker:
        create_topic(broker, "orders")
        with Connection(broker.bootstrap) as connection:
            connection.request("produce", 9, **produce_data("orders", batch(b"1"), acks=1))
        wait_until(broker, lambda: partition_of(broker).log.high_watermark == 1)


def test_a_topics_flush_ms_may_ask_for_less(broker: Broker) -> None:
    set_configs(broker, "orders", {"flush.ms": "10"})
    with Connection(broker.bootstrap) as connection:
        connection.request("produce", 9, **produce_data("orders", batch(b"1"), acks=1))
    wait_until(broker, lambda: partition_of(broker).log.high_watermark == 1)


def test_flush_messages_of_one_syncs_at_once(broker: Broker) -> None:
    set_configs(broker, "orders", {"flush.messages": "1"})
    with Connection(broker.bootstrap) as connection:
        connection.request("produce", 9, **produce_data("orders", batch(b"1"), acks=1))
    wait_until(broker, lambda: partition_of(broker).log.high_watermark == 1)


def test_a_waiting_reader_makes_it_urgent(broker: Broker) -> None:
    """Nobody would sync for a minute; the reader came before, or comes after."""
    with Connection(broker.bootstrap) as writer, Connection(broker.bootstrap) as reader:
        reader.send("fetch", 11, **fetch_data("orders", max_wait=LONG_MS))
        wait_until(broker, lambda: partition_of(broker).has_waiting_readers)
        writer.request("produce", 9, **produce_data("orders", batch(b"before"), acks=1))
        assert b"before" in reader.receive().responses[0].partitions[0].records
        writer.request("produce", 9, **produce_data("orders", batch(b"after"), acks=1))
        assert b"after" in fetch(reader, "orders", 1, max_wait=LONG_MS).records


def test_a_failed_sync_acknowledges_nothing_and_stops_the_partition(
    broker: Broker, disk: BreakingDisk, caplog: pytest.LogCaptureFixture
) -> None:
    create_topic(broker, "others")
    with Connection(broker.bootstrap) as connection:
        assert produce(connection, "orders", batch(b"good")).error_code == 0
        disk.is_broken = True
        assert produce(connection, "orders", batch(b"lost?")).error_code == STORAGE_ERROR
        disk.is_broken = False
        assert produce(connection, "orders", batch(b"after")).error_code == STORAGE_ERROR
        assert partition_of(broker).log.high_watermark == 1
        assert b"good" in fetch(connection, "orders").records
        assert produce(connection, "others", batch(b"fine")).error_code == 0
    assert "sync failed, partition stopped" in caplog.text


def test_everything_asked_for_is_synced_before_a_clean_stop(tmp_path: Path) -> None:
    with Broker(data=tmp_path, flush_ms=60_000) as broker:
        create_topic(broker, "orders")
        with Connection(broker.bootstrap) as connection:
            connection.request("produce", 9, **produce_data("orders", batch(b"1"), acks=1))
        broker.restart()
        assert partition_of(broker).log.high_watermark == 1


def test_more_partitions_than_threads_are_all_synced(broker: Broker, disk: BreakingDisk) -> None:
    count = 3 * SYNC_THREADS
    create_topic(broker, "many", partitions=count)
    disk.hold()
    with Connection(broker.bootstrap) as connection:
        for partition in range(count):
            connection.send("produce", 9, **produce_data("many", batch(b"1"), partition))
        assert disk.is_waiting.wait(30)
        disk.release()
        for _ in range(count):
            assert connection.receive().responses[0].partition_responses[0].error_code == 0
