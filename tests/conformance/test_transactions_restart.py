"""Transactions across a restart, orderly or by a kill: decided stays decided, open stays open."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from conformance.calls import await_topic, create_topic, eventually
from conformance.raw import Connection, ErrorCode
from conformance.transactional import (
    NEW,
    OLD,
    Transactional,
    committed_fetch,
    committed_values,
    describe,
    state_of,
)
from rigs.apache_kafka import ApacheKafka
from rigs.headwater_process import HeadwaterProcess


@dataclass
class Before:
    """Producers with transactions behind them, or in hand when the broker went; one for each test."""

    connection: Connection
    topic: str
    group: str
    done: Transactional
    open: Transactional
    offsets: Transactional
    client: Transactional
    zombie: Transactional

    @property
    def producers(self) -> list[Transactional]:
        return [self.done, self.open, self.offsets, self.client, self.zombie]


@pytest.fixture(
    scope="module",
    params=[(how, dialect) for how in ("stopped", "killed") for dialect in ("old", "new")],
    ids="-".join,
)
def before(
    request: pytest.FixtureRequest, own_broker: HeadwaterProcess | ApacheKafka
) -> Iterator[Before]:
    how, dialect = request.param
    with Connection(own_broker.bootstrap) as connection:
        before = prepare(connection, {"old": OLD, "new": NEW}[dialect])
    if how == "killed":
        own_broker.kill()
    own_broker.restart()
    with Connection(own_broker.bootstrap) as connection:
        before.connection = connection
        for each in before.producers:
            each.connection = connection
        await_topic(connection, before.topic, 2)
        eventually(lambda: is_loaded(connection, before))
        yield before


def prepare(connection: Connection, dialect: Any) -> Before:
    topic, group = f"restart-{uuid4().hex[:12]}", f"restart-{uuid4().hex[:12]}"
    create_topic(connection, topic, 2)
    producers = [
        Transactional(connection, f"{topic}-{number}", dialect).start() for number in range(5)
    ]
    done, unfinished, offsets, client, zombie = producers
    eventually(lambda: has_coordinator(connection, group))
    done.send(topic, b"committed")
    done.send_offset(group, topic, 4)
    done.commit()
    done.send(topic, b"aborted")
    done.abort()
    for each in (client, zombie):
        each.send(topic, b"before")
        each.commit()
    unfinished.send(topic, b"open", partition=1)
    offsets.send_offset(group, topic, 7)
    return Before(connection, topic, group, *producers)


def has_coordinator(connection: Connection, group: str) -> bool:
    found = connection.request("find_coordinator", 4, key_type=0, coordinator_keys=[group])
    if found.coordinators[0].error_code != ErrorCode.none:
        return False
    answer = connection.request("offset_fetch", 7, group_id=group, topics=None)
    return bool(answer.error_code == ErrorCode.none)


def is_loaded(connection: Connection, before: Before) -> bool:
    ids = [each.transactional_id for each in before.producers]
    response = connection.request("describe_transactions", 0, transactional_ids=ids)
    codes = {each.error_code for each in response.transaction_states}
    return codes == {ErrorCode.none} and has_coordinator(connection, before.group)


def fetch_offset(before: Before, *, stable: bool = False) -> Any:
    response = before.connection.request(
        "offset_fetch",
        7,
        group_id=before.group,
        topics=[{"name": before.topic, "partition_indexes": [0]}],
        require_stable=stable,
    )
    return response.topics[0].partitions[0]


def test_what_was_committed_and_aborted_stays_so(before: Before):
    assert committed_values(before.connection, before.topic)[:1] == [b"committed"]
    assert b"aborted" not in committed_values(before.connection, before.topic)
    (aborted,) = committed_fetch(before.connection, before.topic).aborted_transactions
    assert (aborted.producer_id, aborted.first_offset) == (before.done.producer_id, 2)


def test_epochs_and_states_stay(before: Before):
    described = describe(before.connection, before.done.transactional_id)

    assert described.transaction_state == "CompleteAbort"
    assert (described.producer_id, described.producer_epoch) == (
        before.done.producer_id,
        before.done.epoch,
    )


def test_offset_in_an_open_transaction_is_still_pending(before: Before):
    assert fetch_offset(before).committed_offset == 4
    assert fetch_offset(before, stable=True).error_code == ErrorCode.unstable_offset_commit

    before.offsets.commit()

    assert fetch_offset(before, stable=True).committed_offset == 7


def test_open_transaction_goes_on_and_can_be_committed(before: Before):
    assert state_of(before.connection, before.open.transactional_id) == "Ongoing"
    answer = committed_fetch(before.connection, before.topic, partition=1)
    assert (answer.last_stable_offset, answer.records) == (0, b"")

    before.open.send(before.topic, b"more", partition=1)
    before.open.commit()

    assert committed_values(before.connection, before.topic, 1) == [b"open", b"more"]


def test_client_goes_on_after_the_restart(before: Before):
    before.client.send(before.topic, b"afterwards")
    before.client.commit()

    assert committed_values(before.connection, before.topic)[-1] == b"afterwards"


def test_zombie_from_before_the_restart_is_fenced(before: Before):
    zombie = before.zombie
    successor = Transactional(before.connection, zombie.transactional_id, zombie.dialect).start()

    assert successor.epoch > zombie.epoch
    late = zombie.produce(before.topic, zombie.records(b"late", sequence=9))
    assert late.error_code == ErrorCode.invalid_producer_epoch
