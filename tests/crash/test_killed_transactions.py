"""`kill -9` of a real broker under transactional producers: each transaction as a whole, or not at all."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from crash.kill_workload import PATIENCE_S, PATIENT
from rigs.headwater_process import HeadwaterProcess

TOPIC = "orders"
PARTITIONS = 3
PRODUCERS = 3
BROKEN = ("lost", "torn", "aborted but read", "read twice", "seen then gone", "failures")


@dataclass
class TransactionalLoad:
    """Producers that commit and abort until told to stop, and a reader; what each of them knows."""

    bootstrap: str
    committed: set[str] = field(default_factory=set)
    aborted: set[str] = field(default_factory=set)
    undecided: set[str] = field(default_factory=set)
    seen: set[bytes] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._changed = threading.Condition()
        self._is_stopping = threading.Event()
        admin = AdminClient(self._config())
        admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result()

    def _config(self) -> dict[str, object]:
        return {"bootstrap.servers": self.bootstrap, **PATIENT}

    @contextmanager
    def running(self) -> Iterator[None]:
        # Daemons: a broker that does not come back must fail the test, not hang it.
        threads = [
            threading.Thread(target=self._produce, args=(number,), daemon=True)
            for number in range(PRODUCERS)
        ]
        threads.append(threading.Thread(target=self._consume, daemon=True))
        for each in threads:
            each.start()
        try:
            yield
        finally:
            self._is_stopping.set()
        for each in threads:
            each.join(PATIENCE_S)
            if each.is_alive():
                self.failures.append("a client got no further")

    def wait_for_commits(self, more: int) -> None:
        with self._changed:
            wanted = len(self.committed) + more
            if not self._changed.wait_for(lambda: len(self.committed) >= wanted, 60):
                raise AssertionError(f"no progress: {len(self.committed)} of {wanted} committed")

    def _produce(self, number: int) -> None:
        random = Random(number)
        producer = self._producer(number)
        count = 0
        while not self._is_stopping.is_set():
            count += 1
            name = f"{number}.{count}"
            is_commit = random.random() < 0.7
            try:
                producer.begin_transaction()
                for partition in range(PARTITIONS):
                    producer.produce(TOPIC, f"{name}:{partition}", partition=partition)
                self._end(producer, name, is_commit=is_commit)
            except KafkaException as error:
                if error.args[0].txn_requires_abort():
                    producer.abort_transaction(PATIENCE_S)
                    self._note(self.aborted, name)
                else:
                    # Fatal: its outcome may have been decided, only the log knows.
                    self._note(self.undecided, name)
                    producer = self._producer(number)

    def _producer(self, number: int) -> Producer:
        producer = Producer(self._config() | {"transactional.id": f"app-{number}"})
        producer.init_transactions(PATIENCE_S)
        return producer

    def _end(self, producer: Producer, name: str, *, is_commit: bool) -> None:
        producer.flush(PATIENCE_S)
        if is_commit:
            producer.commit_transaction(PATIENCE_S)
        else:
            producer.abort_transaction(PATIENCE_S)
        self._note(self.committed if is_commit else self.aborted, name)

    def _note(self, outcome: set[str], name: str) -> None:
        with self._changed:
            outcome.add(name)
            self._changed.notify_all()

    def _consume(self) -> None:
        consumer = Consumer(self._config() | {"group.id": "reader", "enable.auto.commit": False})
        consumer.assign([TopicPartition(TOPIC, each, 0) for each in range(PARTITIONS)])
        while not self._is_stopping.is_set():
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                self.seen.add(message.value())
        consumer.close()

    def log(self) -> list[bytes]:
        """Everything that is committed, from the beginning to the last stable offset."""
        consumer = Consumer(
            self._config()
            | {"group.id": "log", "enable.partition.eof": True, "enable.auto.commit": False}
        )
        consumer.assign([TopicPartition(TOPIC, each, 0) for each in range(PARTITIONS)])
        values: list[bytes] = []
        ends = 0
        while ends < PARTITIONS:
            message = consumer.poll(30)
            assert message is not None, "the log cannot be read to its end"
            if message.error() is not None:
                ends += 1
            else:
                values.append(message.value())
        consumer.close()
        return values

    def verdict(self) -> Counter[str]:
        """Count what was promised and what was broken."""
        for number in range(PRODUCERS):
            self._producer(number)  # What is open is aborted: nothing hides behind it.
        values = self.log()
        found: dict[str, int] = Counter(value.split(b":")[0].decode() for value in values)
        counts = Counter(committed=len(self.committed), failures=len(self.failures))
        counts["read twice"] = len(values) - len(set(values))
        counts["lost"] = sum(found[each] < PARTITIONS for each in self.committed)
        counts["torn"] = sum(each < PARTITIONS for each in found.values())
        counts["aborted but read"] = sum(each in found for each in self.aborted)
        counts["seen then gone"] = len(self.seen - set(values))
        return counts


def test_transactions_survive_kill_9_under_load() -> None:
    counts, load = transaction_kill_campaign(Random(1), kills=4)
    assert counts["committed"] > 0
    assert load.aborted
    assert {each: counts[each] for each in BROKEN} == dict.fromkeys(BROKEN, 0), load.failures[:3]


def transaction_kill_campaign(random: Random, kills: int) -> tuple[Counter[str], TransactionalLoad]:
    with HeadwaterProcess({"retention_check_ms": "200", "compaction_check_ms": "200"}) as server:
        load = TransactionalLoad(server.bootstrap)
        with load.running():
            for _ in range(kills):
                load.wait_for_commits(random.randint(1, 60))
                server.kill()
                server.restart()
            load.wait_for_commits(20)
        return load.verdict(), load
