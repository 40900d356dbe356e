"""Members of one group that each read to the end: they share what there is, and leave when done."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Event

import confluent_kafka
import pytest

import headwater
from headwater.client import Client
from headwater.client.shares import Shares

RECORDS = 400


@pytest.fixture
def filled(client: Client, new_topic: Callable[..., str]) -> str:
    topic = new_topic(partitions=2)
    with client.producer() as producer:
        for number in range(RECORDS):
            producer.send(topic, number, partition=number % 2)
    return topic


@pytest.mark.timeout(30)
def test_a_member_that_comes_later_reads_its_share(
    bootstrap: str, client: Client, filled: str, group: str
) -> None:
    has_begun = Event()

    def read_as_second_member() -> list[int]:
        found = []
        with (
            headwater.connect(bootstrap) as other,
            other.consumer(filled, group=group, until="end") as records,
        ):
            for record in records:
                found.append(record.value)
                has_begun.set()
        return found

    first: list[int] = []
    with (
        ThreadPoolExecutor(1) as thread,
        client.consumer(filled, group=group, until="end") as records,
    ):
        for record in records:
            if not first:
                second = thread.submit(read_as_second_member)
            first.append(record.value)
            if not second.done():
                has_begun.wait(0.05)
        records.close()
        both = first + second.result()
    assert sorted(both) == [*range(RECORDS)]
    assert has_begun.is_set()


def test_what_a_member_is_about_to_get_is_not_left_to_somebody_else(
    client: Client, filled: str, group: str
) -> None:
    reader = confluent_kafka.Consumer(
        {"bootstrap.servers": client.connection.address.bootstrap, "group.id": group}
    )
    with closing(reader):
        reader.subscribe([filled])
        while len(reader.assignment()) < 2:
            reader.poll(0.05)
        to_the_end = client._range("start", "end")
        world = (to_the_end, client.admin.groups, client._log)
        partitions = [(filled, 0), (filled, 1)]
        assert not Shares(group, reader.memberid, *world).are_settled(partitions)
        assert Shares(group, lambda: "another member", *world).are_settled(partitions)


@pytest.mark.timeout(30)
def test_a_member_that_had_nothing_to_read_holds_nobody_up(
    bootstrap: str, client: Client, topic: str, group: str
) -> None:
    client.send(topic, 1)
    with client.consumer(topic, group=group) as records:
        next(records)
        with (
            ThreadPoolExecutor(1) as thread,
            headwater.connect(bootstrap) as other,
            other.consumer(topic, group=group, until="end") as idle,
        ):
            reading = thread.submit(list, idle)
            while not reading.done():
                records.poll(max_wait_s=0.05)
            assert reading.result() == []
        assert len(client.admin.groups.describe(group).members) == 1


@pytest.mark.timeout(30)
def test_a_position_is_stored_though_the_group_is_shared_out_anew_just_then(
    bootstrap: str, client: Client, new_topic: Callable[..., str], group: str
) -> None:
    topic = new_topic(partitions=2)
    newcomer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "partition.assignment.strategy": "cooperative-sticky",
        }
    )
    with (
        ThreadPoolExecutor(1) as thread,
        closing(newcomer),
        client.consumer(topic, group=group, options={"auto.commit.interval.ms": 0}) as records,
    ):
        while len(records.assignment) < 2:
            records.poll(max_wait_s=0.05)
        newcomer.subscribe([topic])
        while len(records.assignment) == 2:
            records.poll(max_wait_s=0.05)
        # This member has asked to join again; until the newcomer is polled, nobody gets an answer.
        ((_, partition),) = records.assignment
        client.send(topic, 1, partition=partition)
        next(records)
        committing = thread.submit(records.commit)
        while not committing.done():
            newcomer.poll(0.05)
        committing.result()
    assert client.admin.groups.committed(group)[topic, partition] == 1
