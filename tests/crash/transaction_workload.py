"""Transactional producers on a broker whose disk is recorded, and what they and a reader were told.

Every value names its transaction, so that what a cut leaves can be held against what was asked and told:
a transaction is there in all its partitions and in its group's offset, or in none.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from conformance.batches import Record, now_ms
from conformance.raw import Connection, ErrorCode
from conformance.transactional import NEW, NEWER, OLD, Transactional, committed_values
from crash.uneven_syncs import uneven
from headwater.broker.broker import Broker as EmbeddedBroker
from headwater.broker.context import RequestContext
from headwater.broker.groups.records import TopicPartition
from headwater.broker.handlers.produce import produce
from headwater.broker.replay import replay_committed
from headwater.broker.transactions.transaction import TransactionState
from headwater.config import BrokerSettings
from headwater.testing import Broker, SettableClock
from headwater.testing.power_cut import RecordingDisk
from headwater.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from headwater.wire.record_batch import ProducerIdAndEpoch

PRODUCERS = 4
PARTITIONS = 2
GROUP = "billing"
SMALL = {"segment.bytes": "1500", "retention.ms": "-1"}
TOPICS = {
    "orders": SMALL,
    "table": SMALL | {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"},
}
DATA = "some/where/data"
COMMIT = "commit"


@dataclass(frozen=True, slots=True)
class Sent:
    """A record of a transaction is stored, its producer knows."""

    transaction: str
    topic: str
    partition: int
    value: bytes


@dataclass(frozen=True, slots=True)
class Sending:
    """A record is on its way; if the cut comes now, its producer will send it again."""

    sent: Sent
    producer: Transactional
    records: bytes


@dataclass(frozen=True, slots=True)
class SentOffset:
    """A transaction has an offset for the partition of its producer."""

    transaction: str
    producer: int
    offset: int


@dataclass(frozen=True, slots=True)
class Asked:
    """EndTxn was sent; (`is_told`) it was answered."""

    transaction: str
    is_commit: bool
    is_told: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """A `read_committed` reader was given these."""

    topic: str
    partition: int
    values: frozenset[bytes | None]


@dataclass(frozen=True, slots=True)
class Epoch:
    """A client was given this identity."""

    transactional_id: str
    producer_id: int
    epoch: int


@dataclass
class Client:
    """One transactional id and the transaction it has in hand."""

    number: int
    producer: Transactional
    transaction: str = ""
    count: int = 0


@dataclass
class TransactionWorkload:
    """Drives a broker through the protocol, one request at a time, several transactions at once."""

    root: Path
    random: Random
    clients: list[Client] = field(default_factory=list)

    def run(self, steps: int) -> RecordingDisk:
        self.disk = RecordingDisk(self.root, sync_seconds=uneven(self.random))
        self.mark = self.disk.recording.mark
        self._offset = 0
        settings = {"retention_check_ms": 20, "compaction_check_ms": 20}
        with Broker(data=self.root / DATA, disk=self.disk, **settings) as self.broker:
            self._make_topics()
            self._make_small_logs()
            self._connect()
            for step in range(steps):
                self.random.choice([self._send] * 6 + [self._send_offset] * 2 + [self._end] * 3)()
                if step % 7 == 3:
                    self._read()
                if step % 23 == 11:
                    self._replace_a_client()
                if step == steps // 2:
                    self._restart()
            self._read()
            self.connection.close()
        return self.disk

    def _make_topics(self) -> None:
        async def create() -> None:
            for name, configs in TOPICS.items():
                await self.broker.embedded.topics.create(name, PARTITIONS, configs)
            await self.broker.embedded.topics.create("input", PRODUCERS, {})

        self.broker.call(create)

    def _make_small_logs(self) -> None:
        """The broker's own logs roll and are compacted too."""

        async def shrink() -> None:
            for name in ("__consumer_offsets", "__transaction_state"):
                topic = self.broker.embedded.topics.get(name)
                assert topic is not None
                log = topic.partitions[0].log
                log.settings = replace(
                    log.settings, segment_bytes=900, min_cleanable_dirty_ratio=0.01
                )

        self.broker.call(shrink)

    def _connect(self) -> None:
        self.connection = Connection(self.broker.bootstrap)
        for number in range(PRODUCERS):
            dialect = (NEW, OLD, NEWER)[number % 3]
            producer = Transactional(self.connection, f"app-{number}", dialect)
            self.clients.append(Client(number, producer))
            self._start(self.clients[-1])
        self._busy = self.clients[-1]

    def _restart(self) -> None:
        self.connection.close()
        self.broker.restart()
        self._make_small_logs()
        self.connection = Connection(self.broker.bootstrap)
        for each in self.clients:
            each.producer.connection = self.connection

    def _start(self, client: Client) -> None:
        client.producer.start()
        self._note_epoch(client)
        self._next(client)

    def _next(self, client: Client) -> None:
        client.count += 1
        client.transaction = f"{client.number}.{client.count}"

    def _some_client(self) -> Client:
        """Often the one that was busy last: its requests follow each other closely."""
        if self.random.random() < 0.5:
            self._busy = self.random.choice(self.clients)
        return self._busy

    def _note_epoch(self, client: Client) -> None:
        producer = client.producer
        self.mark(Epoch(producer.transactional_id, producer.producer_id, producer.epoch))

    def _send(self) -> None:
        client = self._some_client()
        topic, partition = self.random.choice(list(TOPICS)), self.random.randrange(PARTITIONS)
        unique = f"{client.transaction}:{self.random.getrandbits(40):x}".encode()
        value = unique.ljust(self.random.randint(20, 90), b".")
        record = Record(key=unique, value=value, timestamp=now_ms())
        sent = Sent(client.transaction, topic, partition, value)
        sequence = client.producer.sequences.get((topic, partition), 0)
        as_now = replace(client.producer)
        self.mark(Sending(sent, as_now, as_now.records(record, sequence=sequence)))
        client.producer.send(topic, record, partition=partition)
        self.mark(sent)

    def _send_offset(self) -> None:
        client = self._some_client()
        self._offset += 1
        client.producer.send_offset(GROUP, "input", self._offset, client.number)
        self.mark(SentOffset(client.transaction, client.number, self._offset))

    def _end(self) -> None:
        client = self._some_client()
        is_commit = self.random.random() < 0.7
        self.mark(Asked(client.transaction, is_commit, is_told=False))
        response = client.producer.end(commit=is_commit)
        if response.error_code == ErrorCode.invalid_txn_state:
            return  # Nothing was begun.
        assert response.error_code == ErrorCode.none, response
        self.mark(Asked(client.transaction, is_commit, is_told=True))
        client.producer.added.clear()
        if client.producer.dialect.bumps_epochs:
            client.producer.epoch = response.producer_epoch
            client.producer.sequences.clear()
            self._note_epoch(client)
        self._next(client)

    def _replace_a_client(self) -> None:
        """A new instance takes over the id: what the old one had in hand is aborted."""
        self._start(self.random.choice(self.clients))

    def _read(self) -> None:
        for topic in TOPICS:
            for partition in range(PARTITIONS):
                values = committed_values(self.connection, topic, partition)
                self.mark(Seen(topic, partition, frozenset(values)))


def check_transactions(
    left: Path, disk: RecordingDisk, marks: list[object], *, is_second: bool = False
) -> Counter[str]:
    """Start a broker on what is left and assert every promise; returns what was looked at.

    In a second crash, the first check itself was cut: its own commit may be there or not.
    """

    async def run() -> Counter[str]:
        clock = SettableClock(now_ms())
        broker = EmbeddedBroker(BrokerSettings(data=str(left / DATA)), disk, clock)
        await broker.start()
        try:
            if any(broker.topics.get(name) is None for name in (*TOPICS, "input")):
                return Counter()  # The cut was before the workload began.
            decided = [each for each in broker.transactions if each.state.is_prepared]
            assert not decided, "a decided transaction was not carried out at start"
            if is_second:
                return await _check(broker, clock, [*marks, *_undecided(marks)])
            _check_nobody_else_committed(_visible(broker), marks)
            more = await _send_again(broker, marks)
            return await _check(broker, clock, [*marks, *more])
        finally:
            await broker.stop()

    return asyncio.run(run())


async def _check(broker: EmbeddedBroker, clock: SettableClock, marks: list[object]) -> Counter[str]:
    _check_seen(broker, marks)
    await _time_out_all(broker, clock)
    counts = _check_outcomes(broker, marks)
    await _check_it_goes_on(broker, marks)
    return counts


def _topic(broker: EmbeddedBroker, name: str):
    topic = broker.topics.get(name)
    assert topic is not None
    return topic


async def _send_again(broker: EmbeddedBroker, marks: list[object]) -> list[object]:
    """A client that had no answer tries again after the restart, and commits: it is there once."""
    if not marks or not isinstance(marks[-1], Sending):
        return []
    sent, client, records = marks[-1].sent, marks[-1].producer, marks[-1].records
    me = ProducerIdAndEpoch(client.producer_id, client.epoch)
    place = TopicPartition(sent.topic, sent.partition)
    version = 2 if client.dialect.bumps_epochs else 0
    if not client.dialect.bumps_epochs:
        assert not broker.transactions.add_ahead(client.transactional_id, me, {place}, version)
        await broker.transactions.ready_to_write(client.transactional_id)
    request = ProduceRequest(
        transactional_id=client.transactional_id,
        acks=-1,
        topic_data=[
            TopicProduceData(
                name=sent.topic,
                partition_data=[
                    PartitionProduceData(index=sent.partition, records=memoryview(records))
                ],
            )
        ],
    )
    context = RequestContext(broker, client.dialect.produce, "again", "here", 1 << 30)
    outcome = produce(request, context)
    # One that is stored already is answered at once.
    response = await outcome if isinstance(outcome, Awaitable) else outcome
    assert response is not None
    answered = response.responses[0].partition_responses[0]
    assert answered.error_code == 0, f"it cannot be sent again: {answered}"
    answer = await broker.transactions.end(
        client.transactional_id, me, is_commit=True, version=version
    )
    assert answer.error == 0, answer
    await broker.transactions.settled(place)
    return [sent, Asked(sent.transaction, is_commit=True, is_told=True)]


def _undecided(marks: list[object]) -> list[object]:
    if not marks or not isinstance(marks[-1], Sending):
        return []
    sent = marks[-1].sent
    return [sent, Asked(sent.transaction, is_commit=True, is_told=False)]


def _check_seen(broker: EmbeddedBroker, marks: list[object]) -> None:
    """Nothing that a reader was given is taken back."""
    last = {(each.topic, each.partition): each for each in marks if isinstance(each, Seen)}
    for (topic, partition), seen in last.items():
        log = _topic(broker, topic).partitions[partition].log
        assert log.damage == [], f"a power cut was taken for damage: {log.damage[0]}"
        now = {each.value for each in replay_committed(log)}
        assert seen.values <= now, "a reader saw records that are gone"


async def _time_out_all(broker: EmbeddedBroker, clock: SettableClock) -> None:
    """What was open at the cut is aborted when its time is over, and holds up nobody any longer."""
    clock.advance(seconds=3600)
    broker.transactions.tick()
    while any(  # noqa: ASYNC110 - nobody tells when the last one is over
        each.state is TransactionState.ONGOING or each.state.is_prepared
        for each in broker.transactions
    ):
        await asyncio.sleep(0.001)
    for topic in broker.topics:
        for partition in topic.partitions:
            log = partition.log
            assert log.last_stable_offset == log.high_watermark, f"{partition.name} is stuck"
    assert not broker.groups.offsets.pending(GROUP), "an offset is pending for ever"


Placed = set[tuple[str, int, bytes]]


def _visible(broker: EmbeddedBroker) -> dict[str, Placed]:
    """Return what a `read_committed` reader finds, by transaction."""
    visible: dict[str, Placed] = {}
    for topic in TOPICS:
        for partition in _topic(broker, topic).partitions:
            values = [each.value for each in replay_committed(partition.log)]
            assert len(values) == len(set(values)), "a record is there twice"
            for value in values:
                assert value is not None
                owner = value.split(b":")[0].decode()
                visible.setdefault(owner, set()).add((topic, partition.index, value))
    return visible


def _check_nobody_else_committed(visible: Iterable[str], marks: list[object]) -> None:
    asked = {each.transaction for each in marks if isinstance(each, Asked) and each.is_commit}
    for owner in visible:
        assert owner in asked, f"transaction {owner} was never committed, but is read"


def _check_outcomes(broker: EmbeddedBroker, marks: list[object]) -> Counter[str]:
    sent: dict[str, Placed] = {}
    offsets: dict[str, SentOffset] = {}
    committing: dict[str, bool] = {}
    for each in marks:
        if isinstance(each, Sent):
            place = (each.topic, each.partition, each.value)
            sent.setdefault(each.transaction, set()).add(place)
        elif isinstance(each, SentOffset):
            offsets[each.transaction] = each
        elif isinstance(each, Asked) and each.is_commit:
            committing[each.transaction] = each.is_told
    visible = _visible(broker)
    _check_nobody_else_committed(visible, marks)
    for owner, is_told in committing.items():
        here = visible.get(owner, set())
        assert not is_told or here == sent.get(owner, set()), f"transaction {owner} is lost"
        assert here in (set(), sent.get(owner, set())), f"transaction {owner} is torn"
    _check_offsets(broker, offsets, committing, visible, sent)
    return Counter(
        committed=sum(committing.values()), undecided=len(committing) - sum(committing.values())
    )


def _check_offsets(
    broker: EmbeddedBroker,
    offsets: dict[str, SentOffset],
    committing: dict[str, bool],
    visible: dict[str, Placed],
    sent: dict[str, Placed],
) -> None:
    """A group's offset is that of the last transaction which is there."""
    committed = broker.groups.offsets.of(GROUP)
    for number in range(PRODUCERS):
        place = committed.get(TopicPartition("input", number))
        found = None if place is None else place.offset
        told: int | None = None
        for owner, is_told in committing.items():
            mine = offsets.get(owner)
            if mine is None or mine.producer != number:
                continue
            if is_told or (sent.get(owner) and owner in visible):
                told = mine.offset
            elif not sent.get(owner) and found == mine.offset:
                told = found  # Only an offset, and not answered: either is right.
        assert found == told, f"the offset of producer {number} is {found}, not {told}"


async def _check_it_goes_on(broker: EmbeddedBroker, marks: list[object]) -> None:
    """Whoever comes next gets an epoch above all that were given, and fences them."""
    newest: dict[str, Epoch] = {}
    for each in marks:
        if isinstance(each, Epoch):
            newest[each.transactional_id] = each
    for transactional_id, last in newest.items():
        answer = await broker.transactions.initialize(transactional_id, 60_000, None)
        assert answer.error == 0, answer
        given = (answer.producer.id, answer.producer.epoch)
        assert given > (last.producer_id, last.epoch), "an epoch was given twice"
