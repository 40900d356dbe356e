"""The broker's own topics: a start reads all of them, so they stay small whatever passes through."""

from pathlib import Path

import pytest

from headwater.broker import offsets_topic, transactions_topic
from headwater.testing import Broker, SettableClock

MIB = 1 << 20


@pytest.mark.parametrize("name", [offsets_topic.NAME, transactions_topic.NAME])
def test_start_never_reads_what_was_outdated_long_ago(tmp_path: Path, name: str) -> None:
    with Broker(data=tmp_path, clock=SettableClock()) as broker:

        async def size_after_many_steps() -> int:
            topic = broker.embedded.topics.get(name)
            assert topic is not None
            (partition,) = topic.partitions
            for _ in range(40):
                partition.log.append_own([(b"the same key", bytes(MIB // 2))])
            await broker.embedded.committer.durable(partition)
            await broker.embedded.catch_up_with_the_clock()
            return partition.log.size_bytes

        assert broker.call(size_after_many_steps) < 9 * MIB
