"""A power cut at any point of a broker's life with transactions in flight: all or nothing, for ever."""

import asyncio
from collections import Counter
from itertools import product
from pathlib import Path
from random import Random

import pytest

from conformance.batches import now_ms
from conformance.raw import Connection
from conformance.transactional import NEWER, OLD, Dialect, Transactional
from crash.transaction_workload import TransactionWorkload, check_transactions
from headwater.broker.broker import Broker as EmbeddedBroker
from headwater.broker.replay import replay_committed
from headwater.config import BrokerSettings
from headwater.log.disk import LocalDisk
from headwater.testing import Broker, SettableClock
from headwater.testing.power_cut import (
    RecordingDisk,
    at_random,
    cuts,
    everything,
    file_by_file,
    nothing_unsynced,
)


@pytest.mark.parametrize("seed", range(3))
def test_transaction_is_there_as_a_whole_or_not_at_all_after_a_power_cut(
    tmp_path: Path, seed: int
) -> None:
    tried = transaction_campaign(tmp_path, seed, steps=90, count=60)

    assert tried["committed"] > 0
    assert tried["undecided"] > 0, "no cut was between the question and the answer"


@pytest.mark.parametrize("dialect", [OLD, NEWER])
def test_what_follows_a_commit_is_never_committed_with_it(tmp_path: Path, dialect: Dialect) -> None:
    """Transactions of an old client have one epoch: a marker that is written again ends what is there."""
    disk = RecordingDisk(tmp_path / "life", sync_seconds=lambda: 0.003)
    with (
        Broker(data=tmp_path / "life" / "data", disk=disk) as broker,
        Connection(broker.bootstrap) as connection,
    ):
        broker.create_topic("orders")
        begin = len(disk.recording)
        client = Transactional(connection, "app", dialect).start()
        for number in (1, 2, 3):
            client.send("orders", b"%d" % number)
            client.send_offset("billing", "orders", number)
            disk.recording.mark(number)
            client.commit()
    random = Random(1)
    for at, attempt in product(range(begin, len(disk.recording)), range(2)):
        left = tmp_path / f"cut-{at}-{attempt}"
        disk.recording.leave(at, left, file_by_file(random))
        asked = disk.recording.marks(at)
        assert set(committed_after_start(left / "data")) <= {0, *asked}


def committed_after_start(data: Path) -> list[int]:
    """Start a broker; return the numbers that are there, as records and as the offset of the group."""

    async def run() -> list[int]:
        broker = EmbeddedBroker(
            BrokerSettings(data=str(data)), LocalDisk(), SettableClock(now_ms())
        )
        await broker.start()
        try:
            topic = broker.topics.get("orders")
            assert topic is not None
            committed = broker.groups.offsets.of("billing").values()
            records = replay_committed(topic.partitions[0].log)
            return [int(each.value or 0) for each in records] + [each.offset for each in committed]
        finally:
            await broker.stop()

    return asyncio.run(run())


def transaction_campaign(root: Path, seed: int, steps: int, count: int | None) -> Counter[str]:
    """Live one life, then cut it; returns how many states and transactions were tried."""
    random = Random(seed)
    (root / "life").mkdir(parents=True)
    recording = TransactionWorkload(root / "life", random).run(steps).recording
    tried: Counter[str] = Counter()
    for at in cuts(recording, 1, random, count):
        marks = recording.marks(at)
        survival = random.choice(
            [nothing_unsynced, everything, at_random(random), file_by_file(random)]
        )
        left = root / f"cut-{at}"
        recording.leave(at, left, survival)
        disk = RecordingDisk(left)
        start = len(disk.recording)
        tried += check_transactions(left, disk, marks)
        again = root / f"again-{at}"
        during = random.randint(start, len(disk.recording))
        disk.recording.leave(during, again, at_random(random))
        tried += check_transactions(again, RecordingDisk(again), marks, is_second=True)
        tried["cuts"] += 2
    return tried
