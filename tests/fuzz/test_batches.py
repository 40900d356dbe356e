"""Spoilt batches inside good requests: each is refused and leaves nothing, or is stored byte by byte."""

import logging
import struct
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from crc32c import crc32c

from broker.calls import create_topic, fetch, produce
from conformance.batches import Codec, Record, batch
from conformance.raw import Connection
from fuzz.campaign import seeds
from fuzz.mutations import mutated
from headwater.log.disk import ReadOnlyDisk
from headwater.log.verify import verify
from headwater.testing import Broker

CRC_START = 21
STAMPED = slice(8, 12), slice(16, None)
"""What a producer sent and a reader gets back: all but base offset and leader epoch."""


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with Broker(data=tmp_path / "data") as started:
        create_topic(started, "plain")
        create_topic(started, "compacted", cleanup_policy="compact")
        create_topic(started, "append-time", message_timestamp_type="LogAppendTime")
        create_topic(started, "checked-time", message_timestamp_before_max_ms="100000")
        yield started


def spoilt(rng: Random) -> bytes:
    """A batch with damage; most often with a checksum that says there is none."""
    records = [
        Record(
            key=rng.choice((b"k", b"key" * 9)),
            value=rng.choice((None, b"", b"v" * 50)),
            headers=rng.choice(((), (("name", b"x"), ("none", None)))),
        )
        for _ in range(rng.choice((1, 2, 10)))
    ]
    producer = rng.choice(({}, {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}))
    good = batch(*records, codec=rng.choice(list(Codec)), **producer)
    if rng.random() < 0.1:
        return good
    data = mutated(rng, good, start=rng.choice((0, 12, 21, 43, 57, 61, 61)))
    if rng.random() < 0.7 and len(data) > CRC_START:
        data = data[:17] + struct.pack(">I", crc32c(data[CRC_START:])) + data[CRC_START:]
    if rng.random() < 0.7 and len(data) > 12:
        data = data[:8] + struct.pack(">i", len(data) - 12) + data[12:]
    return data


@pytest.mark.parametrize("topic", ["plain", "compacted", "append-time", "checked-time"])
def test_a_spoilt_batch_is_refused_or_stored_as_it_is(
    broker: Broker, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    accepted: list[tuple[int, bytes]] = []
    with Connection(broker.bootstrap) as connection:
        end = 0
        for seed in seeds(600):
            sent = spoilt(Random(f"{seed} {topic}"))
            answer = produce(connection, topic, sent)
            if answer.error_code:
                assert answer.base_offset == -1
                continue
            if answer.base_offset < end:
                continue  # A duplicate of an idempotent producer: told where it is, not stored again.
            assert answer.base_offset == end, f"seed {seed}"
            accepted.append((end, sent))
            end += struct.unpack_from(">i", sent, 23)[0] + 1
        assert len(accepted) > 20
        errors = [each for each in caplog.records if each.levelno >= logging.ERROR]
        assert not errors, errors[0].exc_text or errors[0].getMessage()
        read_back(connection, topic, accepted)
        times_are_answered(connection, topic)
    broker.call(broker.embedded._housekeeping.compact)
    broker.kill()
    broker.start()
    with Connection(broker.bootstrap) as connection:
        read_back(connection, topic, accepted)
    assert not verify(ReadOnlyDisk(), broker.data / f"{topic}-0").damage


def read_back(connection: Connection, topic: str, accepted: list[tuple[int, bytes]]) -> None:
    for offset, sent in accepted:
        answer = fetch(connection, topic, offset, partition_max_bytes=len(sent))
        assert answer.error_code == 0
        stored = bytes(answer.records)[: len(sent)]
        assert struct.unpack_from(">q", stored) == (offset,)
        if topic == "append-time":
            assert stored[61:] == sent[61:]
        elif not sent[22] & 0x08:  # A claim to the broker's own time is taken out.
            assert [stored[each] for each in STAMPED] == [sent[each] for each in STAMPED]


def times_are_answered(connection: Connection, topic: str) -> None:
    """By time a malformed batch may be met: that is an error of the partition, not of the broker."""
    for timestamp in (-3, -2, -1, 0, 1 << 40, 1 << 62):
        asked = [{"name": topic, "partitions": [{"partition_index": 0, "timestamp": timestamp}]}]
        answer = connection.request("list_offsets", 7, replica_id=-1, topics=asked)
        assert answer.topics[0].partitions[0].error_code in (0, 2, 87)
