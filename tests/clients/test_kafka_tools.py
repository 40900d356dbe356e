"""Kafka's own command line tools, from Maven: they manage our transactions and read our files."""

import json
import subprocess
from collections.abc import Callable

import pytest

from conformance.raw import Connection
from conformance.transactional import NEW, Transactional, committed_fetch
from headwater.testing import Broker
from rigs.apache_kafka import kafka_libs
from rigs.process import Unavailable

Tool = Callable[..., list[list[str]]]


@pytest.fixture
def kafka_transactions(bootstrap: str) -> Tool:
    """Run kafka-transactions with these words; returns the rows that it prints, without their head."""

    def run(*words: str) -> list[list[str]]:
        lines = java("TransactionsCommand", "--bootstrap-server", bootstrap, *words)
        return [line.split() for line in lines[1:]]

    return run


def java(tool: str, *words: str) -> list[str]:
    """Run one of Kafka's tools, and return what it prints."""
    try:
        libs = kafka_libs()
    except Unavailable as reason:
        pytest.skip(str(reason))
    quiet = ["-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"]
    done = subprocess.run(
        ["java", *quiet, "-cp", f"{libs}/*", f"org.apache.kafka.tools.{tool}", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


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


def test_kafka_reads_our_records_of_transactions() -> None:
    with Broker() as broker, Connection(broker.bootstrap) as connection:
        broker.create_topic("orders")
        producer = Transactional(connection, "app").start()
        producer.send("orders", b"a")
        producer.commit()
        printed = java(
            "consumer.ConsoleConsumer",
            *("--bootstrap-server", broker.bootstrap),
            *("--topic", "__transaction_state", "--from-beginning", "--max-messages", "4"),
            *("--formatter", "org.apache.kafka.tools.consumer.TransactionLogMessageFormatter"),
        )

    steps = json.loads("[" + "".join(printed).replace("}{", "},{") + "]")
    assert [each["value"]["data"]["transactionStatus"] for each in steps] == [0, 1, 2, 4]
    assert {each["key"]["data"]["transactionalId"] for each in steps} == {"app"}
    partitions = [{"topic": "orders", "partitionIds": [0]}]
    assert steps[2]["value"]["data"]["transactionPartitions"] == partitions


def test_kafka_reads_our_markers() -> None:
    with Broker() as broker, Connection(broker.bootstrap) as connection:
        broker.create_topic("orders")
        producer = Transactional(connection, "app").start()
        for commit in (True, False):
            producer.send("orders", b"a")
            producer.finish(commit=commit)
        segment = broker.data / "orders-0" / f"{0:020d}.log"
        printed = java("DumpLogSegments", "--files", str(segment), "--print-data-log")

    assert all("isvalid: true" in line for line in printed if line.startswith("baseOffset"))
    ends = [line.split("endTxnMarker: ")[1].split()[0] for line in printed if "endTxn" in line]
    assert ends == ["COMMIT", "ABORT"]
