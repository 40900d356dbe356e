"""Kafka's own command line tools, from Maven: kafka-transactions lists, describes and aborts."""

import subprocess
from collections.abc import Callable

import pytest

from conformance.raw import Connection
from conformance.transactional import NEW, Transactional, committed_fetch
from rigs.apache_kafka import kafka_libs
from rigs.process import Unavailable

Tool = Callable[..., list[list[str]]]


@pytest.fixture
def kafka_transactions(bootstrap: str) -> Tool:
    """Run kafka-transactions with these words; returns the rows that it prints, without their head."""
    try:
        libs = kafka_libs()
    except Unavailable as reason:
        pytest.skip(str(reason))

    def run(*words: str) -> list[list[str]]:
        main = ["org.apache.kafka.tools.TransactionsCommand", "--bootstrap-server", bootstrap]
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
        done = subprocess.run(
            ["java", "-XX:TieredStopAtLevel=1", quiet, "-cp", f"{libs}/*", *main, *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return [line.split() for line in done.stdout.splitlines()[1:]]

    return run


def test_transaction_is_found_described_and_aborted(
    bootstrap: str, topic: str, name: str, kafka_transactions: Tool
):
    with Connection(bootstrap) as connection:
        producer = Transactional(connection, name, NEW).start()
        producer.send(topic, b"hanging")

        listed = {row[0]: row for row in kafka_transactions("list")}
        assert listed[name][2:] == [str(producer.producer_id), "Ongoing"]
        (described,) = kafka_transactions("describe", "--transactional-id", name)
        assert described[-1] == f"{topic}-0"
        place = ("--topic", topic, "--partition", "0")
        (state,) = kafka_transactions("describe-producers", *place)
        assert (state[0], state[-1]) == (str(producer.producer_id), "0")

        kafka_transactions("abort", *place, "--start-offset", "0")

        assert committed_fetch(connection, topic).last_stable_offset == 2


def test_transaction_is_terminated_by_its_id(
    bootstrap: str, topic: str, name: str, kafka_transactions: Tool
):
    with Connection(bootstrap) as connection:
        producer = Transactional(connection, name, NEW).start()
        producer.send(topic, b"open")

        kafka_transactions("forceTerminateTransaction", "--transactionalId", name)

        producer.await_state("Empty")
        assert committed_fetch(connection, topic).last_stable_offset == 2
