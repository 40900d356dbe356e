"""More partitions than files may be open: those not used for longest give way, and nobody notices."""

import gc
import resource
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from broker.calls import LONG_MS, create_topic, fetch, fetch_data, produce, wait_until
from conformance.batches import Record, batch, decode
from conformance.raw import Connection, ErrorCode
from conformance.transactional import NEW, OLD, Dialect, Transactional, committed_values
from headwater.log.disk import LocalDisk
from headwater.testing import Broker, SettableClock

MOST_FILES = 164
MOST_OF_LOGS = 100
MANY = 100
"""Partitions, of two files each when they are open."""


@pytest.fixture(autouse=True)
def few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system says it allows; this process has files of other tests open, too."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (MOST_FILES, MOST_FILES))


@pytest.fixture
def disk() -> LocalDisk:
    return LocalDisk()


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def broker(tmp_path: Path, disk: LocalDisk, clock: SettableClock) -> Iterator[Broker]:
    started = Broker(data=tmp_path, disk=disk, clock=clock)
    started.start()
    create_topic(started, "many", MANY)
    yield started
    started.stop()


@pytest.fixture
def connection(broker: Broker) -> Iterator[Connection]:
    with Connection(broker.bootstrap) as connection:
        yield connection


def write_all(connection: Connection, value: bytes) -> list[int]:
    answers = [produce(connection, "many", batch(value), each) for each in range(MANY)]
    assert {each.error_code for each in answers} == {ErrorCode.none}
    return [each.base_offset for each in answers]


def read(connection: Connection, topic: str, partition: int = 0) -> list[bytes | None]:
    answer = fetch(connection, topic, partition=partition)
    assert answer.error_code == ErrorCode.none
    return [record.value for each in decode(answer.records) for record in each.records]


def is_open(broker: Broker, name: str) -> bool:
    topic = broker.embedded.topics.get(name)
    assert topic is not None
    return topic.partitions[0].is_open


def put_to_rest(broker: Broker, connection: Connection, name: str) -> None:
    """Use so many others that this one gives way."""
    for _ in range(5):
        if not is_open(broker, name):
            return
        write_all(connection, b"other")
    raise AssertionError("it stayed open")


def test_more_partitions_than_files_are_written_and_read(
    disk: LocalDisk, connection: Connection
) -> None:
    for number in range(3):
        assert write_all(connection, b"%d" % number) == [number] * MANY
        assert disk.open_files <= MOST_OF_LOGS + 20
    for partition in range(MANY):
        assert read(connection, "many", partition) == [b"0", b"1", b"2"]
    assert disk.open_files <= MOST_OF_LOGS + 20


def test_partitions_that_were_looked_at_before_they_held_anything_count_too(
    disk: LocalDisk, connection: Connection
) -> None:
    for partition in range(MANY):
        assert read(connection, "many", partition) == []

    write_all(connection, b"a")

    assert disk.open_files <= MOST_OF_LOGS + 20


def test_connections_take_files_from_logs(
    broker: Broker, disk: LocalDisk, connection: Connection
) -> None:
    write_all(connection, b"a")
    before = disk.open_files
    with ExitStack() as stack:
        for _ in range(60):
            each = stack.enter_context(Connection(broker.bootstrap))
            assert each.request("metadata", 12, topics=[]).topics == []

        assert disk.open_files <= before - 40


@pytest.mark.parametrize("crash", [True, False])
def test_what_was_put_to_rest_is_there_after_a_restart(
    broker: Broker, disk: LocalDisk, connection: Connection, crash: bool
) -> None:
    write_all(connection, b"a")
    write_all(connection, b"b")
    connection.close()

    (broker.kill if crash else broker.stop)()
    gc.collect()  # The broker before holds its files until then.
    broker.start()

    assert disk.open_files <= MOST_OF_LOGS + 20
    with Connection(broker.bootstrap) as again:
        for partition in range(MANY):
            assert read(again, "many", partition) == [b"a", b"b"]
        assert write_all(again, b"c") == [2] * MANY


def test_a_retried_batch_is_known_to_a_log_that_was_put_to_rest(
    broker: Broker, connection: Connection
) -> None:
    create_topic(broker, "one")
    sent = batch(b"once", producer_id=7, producer_epoch=0, base_sequence=0)
    produce(connection, "one", sent)
    put_to_rest(broker, connection, "one")

    assert produce(connection, "one", sent).base_offset == 0
    assert read(connection, "one") == [b"once"]


@pytest.mark.parametrize("dialect", [OLD, NEW], ids=["old", "new"])
def test_an_open_transaction_keeps_its_log_open(
    broker: Broker, connection: Connection, dialect: Dialect
) -> None:
    create_topic(broker, "one")
    producer = Transactional(connection, "id", dialect).start()
    producer.send("one", b"aborted")
    producer.abort()
    producer.send("one", b"committed")
    for _ in range(3):
        write_all(connection, b"other")
    assert is_open(broker, "one")
    producer.commit()

    put_to_rest(broker, connection, "one")

    assert committed_values(connection, "one") == [b"committed"]
    producer.send("one", b"next")
    producer.commit()
    assert committed_values(connection, "one") == [b"committed", b"next"]


def test_deleted_records_stay_deleted(broker: Broker, connection: Connection) -> None:
    create_topic(broker, "one")
    for value in (b"a", b"b", b"c"):
        produce(connection, "one", batch(value))
    start = [{"partition_index": 0, "offset": 2}]
    connection.request(
        "delete_records", 2, topics=[{"name": "one", "partitions": start}], timeout=LONG_MS
    )
    put_to_rest(broker, connection, "one")

    assert fetch(connection, "one").error_code == ErrorCode.offset_out_of_range
    assert fetch(connection, "one", offset=2).log_start_offset == 2


def test_a_topic_that_was_put_to_rest_is_deleted_and_made_anew(
    broker: Broker, connection: Connection
) -> None:
    create_topic(broker, "one")
    produce(connection, "one", batch(b"old"))
    put_to_rest(broker, connection, "one")

    connection.request("delete_topics", 4, topic_names=["one"], timeout=LONG_MS)
    create_topic(broker, "one")

    assert read(connection, "one") == []
    assert produce(connection, "one", batch(b"new")).base_offset == 0


def test_a_reader_that_waits_is_woken_in_a_log_that_was_put_to_rest(
    broker: Broker, connection: Connection
) -> None:
    create_topic(broker, "one")
    produce(connection, "one", batch(b"a"))
    with Connection(broker.bootstrap) as reader:
        waiting = fetch_data("one", 1, max_wait=LONG_MS)
        reader.send("fetch", 11, **waiting | {"min_bytes": 1})
        topic = broker.embedded.topics.get("one")
        assert topic is not None
        wait_until(broker, lambda: topic.partitions[0].has_waiting_readers)
        put_to_rest(broker, connection, "one")

        produce(connection, "one", batch(b"b"))

        answer = reader.receive().responses[0].partitions[0]
        assert [each.records[0].value for each in decode(answer.records)] == [b"b"]


def test_the_broker_looks_after_what_was_put_to_rest(
    broker: Broker, disk: LocalDisk, clock: SettableClock, connection: Connection
) -> None:
    create_topic(broker, "short", retention_ms="60000")
    produce(connection, "short", batch(Record(value=b"old", timestamp=clock.now_ms())))
    put_to_rest(broker, connection, "short")

    clock.advance(seconds=3600)

    assert fetch(connection, "short", offset=1).log_start_offset == 1
    assert disk.open_files <= MOST_OF_LOGS + 20


def test_files_of_a_log_that_rests_again_and_again_do_not_pile_up(
    broker: Broker, connection: Connection
) -> None:
    create_topic(broker, "one")
    for sequence in range(4):
        sent = batch(b"a", producer_id=7, producer_epoch=0, base_sequence=sequence)
        assert produce(connection, "one", sent).base_offset == sequence
        put_to_rest(broker, connection, "one")

    assert len(list((broker.data / "one-0").glob("*.snapshot"))) == 1
