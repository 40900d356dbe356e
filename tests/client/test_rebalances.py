"""Members of one group that come and go: every record is read, finished ones are not read again."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

import pytest

import headwater
from headwater.client import Client, Consumer, Record


@contextmanager
def steady_writer(bootstrap: str, topic: str, partitions: int) -> Iterator[Callable[[], int]]:
    """Numbers arrive in every partition until the block is left; calling it tells how many."""
    stop = Event()

    def write() -> int:
        number = 0
        with headwater.connect(bootstrap) as client, client.producer() as producer:
            while not stop.is_set():
                for _ in range(partitions):
                    producer.send(topic, number, partition=number % partitions)
                    number += 1
                producer.flush()
        return number

    with ThreadPoolExecutor(1) as thread:
        writing = thread.submit(write)
        try:
            yield lambda: (stop.set(), writing.result())[1]
        finally:
            stop.set()


def one_by_one(consumer: Consumer) -> Iterator[list[Record]]:
    return ([record] for record in consumer)


def in_batches(consumer: Consumer) -> Iterator[list[Record]]:
    return consumer.batches(max_records=200, max_wait_s=0.3)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("reading", [one_by_one, in_batches])
def test_partitions_move_to_a_second_member_and_back_without_loss_or_repetition(
    bootstrap: str,
    client: Client,
    new_topic: Callable[..., str],
    group: str,
    reading: Callable[[Consumer], Iterator[list[Record]]],
) -> None:
    topic = new_topic(partitions=4)
    has_two, leave, is_gone = Event(), Event(), Event()

    def read_as_second_member() -> list[int]:
        found = []
        with (
            headwater.connect(bootstrap) as other,
            other.consumer(topic, group=group) as records,
        ):
            for record in records:
                found.append(record.value)
                if len(records.assignment) == 2:
                    has_two.set()
                if leave.is_set():
                    records.commit()
                    break
        is_gone.set()
        return found

    read: list[int] = []
    with (
        steady_writer(bootstrap, topic, 4) as written,
        ThreadPoolExecutor(1) as thread,
        client.consumer(topic, group=group) as first,
    ):
        batches = reading(first)
        for batch in batches:
            read += [record.value for record in batch]
            if len(first.assignment) == 4:
                break
        second = thread.submit(read_as_second_member)
        for batch in batches:
            read += [record.value for record in batch]
            if has_two.is_set() and len(first.assignment) == 2:
                leave.set()
            if is_gone.is_set() and len(first.assignment) == 4:
                first.commit()
                break
        read += second.result()
        total = written()
    with client.consumer(topic, group=group, until="end") as rest:
        read += [record.value for record in rest]
    assert sorted(read) == list(range(total))


@pytest.mark.timeout(60)
def test_a_batch_in_the_making_loses_the_records_of_a_revoked_partition(
    bootstrap: str, client: Client, new_topic: Callable[..., str], group: str
) -> None:
    topic = new_topic(partitions=2)
    for partition in (0, 1):
        client.send(topic, partition, partition=partition)
    took_over = Event()

    def read_as_second_member() -> int:
        with (
            headwater.connect(bootstrap) as other,
            other.consumer(topic, group=group) as records,
        ):
            value = next(records).value
            took_over.set()
            return int(value)

    with ThreadPoolExecutor(2) as threads, client.consumer(topic, group=group) as first:
        # Three records are asked for and two exist: the batch is open while a second member comes.
        batch = threads.submit(next, first.batches(max_records=3, max_wait_s=50))
        taken = threads.submit(read_as_second_member).result()
        took_over.wait()
        client.send(topic, 2, partition=1 - taken)
        client.send(topic, 3, partition=1 - taken)
        assert [record.value for record in batch.result()] == [1 - taken, 2, 3]
