"""Short-circuit reads: the broker's files are as good as its answers, or they are not used."""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from bulk.logs import Log, Written, WrittenBatch
from bulk.reading import delete_before, delete_topic, produce, values, whole
from headwater.bulk import reader as reader_module
from headwater.bulk.cluster import Cluster
from headwater.bulk.ranges import OffsetRange
from headwater.bulk.reader import BulkReader
from headwater.bulk.segments import holds, read_segments
from headwater.errors import OffsetOutOfRange
from headwater.testing import Broker
from headwater.wire.record_batch import TRANSACTIONAL

TOPIC = "orders"
SEGMENT_BYTES = 1 << 20
RECORD_BYTES = 1000


@pytest.fixture(autouse=True)
def _files_also_for_small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_module, "SMALL_RANGE", 0)


@pytest.fixture
def broker() -> Iterator[Broker]:
    """A topic of several segments, the last one open."""
    with Broker(retention_check_ms=10) as started:
        started.create_topic(TOPIC, segment_bytes=SEGMENT_BYTES, retention_ms=-1)
        fill(started, 4000)
        yield started


@pytest.fixture
def cluster(broker: Broker) -> Iterator[Cluster]:
    with Cluster([("127.0.0.1", broker.port)], timeout_s=5) as connected:
        yield connected


@pytest.fixture
def reader(cluster: Cluster, broker: Broker) -> BulkReader:
    assert cluster.data_directory() == str(broker.data)
    return BulkReader(cluster, data_directory=broker.data)


def fill(broker: Broker, count: int, first: int = 0) -> None:
    records = [{"value": value(number)} for number in range(first, first + count)]
    produce(broker.bootstrap, TOPIC, records, **{"batch.num.messages": 50})


def value(number: int) -> bytes:
    return b"%06d" % number + bytes(RECORD_BYTES - 6)


def numbers(found: list[bytes | None]) -> list[int]:
    return [int((each or b"")[:6]) for each in found]


def segments(broker: Broker) -> list[Path]:
    return sorted((broker.data / f"{TOPIC}-0").glob("*.log"))


def from_files(broker: Broker, wanted: OffsetRange) -> list[tuple[int, int]]:
    return [
        (batches.placed[0][1].base_offset, batches.next_offset)
        for batches in read_segments(broker.data, wanted)
    ]


def test_a_whole_topic_is_read_without_the_broker(
    broker: Broker, cluster: Cluster, reader: BulkReader, monkeypatch
) -> None:
    wanted = whole(cluster, TOPIC)
    monkeypatch.setattr(reader_module, "fetch_range", None)
    assert numbers(values(reader, wanted)) == list(range(4000))
    assert len(segments(broker)) > 3


@pytest.mark.parametrize("start", [0, 1, 999, 1050, 3500, 3999])
def test_any_range_is_found(cluster: Cluster, reader: BulkReader, start: int) -> None:
    wanted = replace(whole(cluster, TOPIC), start=start, end=min(4000, start + 1234))
    assert numbers(values(reader, wanted)) == list(range(wanted.start, wanted.end))


def test_bytes_after_the_end_are_not_looked_at(
    broker: Broker, cluster: Cluster, reader: BulkReader
) -> None:
    """What lies there may be half a batch, and is not durable."""
    wanted = whole(cluster, TOPIC)
    with segments(broker)[-1].open("ab") as file:
        file.write(b"torn" * 100)
    assert numbers(values(reader, wanted)) == list(range(4000))
    assert from_files(broker, wanted)[-1][1] == 4000


def test_an_end_that_the_broker_does_not_confirm_is_refused(
    cluster: Cluster, reader: BulkReader
) -> None:
    wanted = replace(whole(cluster, TOPIC), end=4001)
    with pytest.raises(OffsetOutOfRange, match="from 0 to 4000"):
        values(reader, wanted)


def test_a_deleted_record_is_not_read_from_its_file(
    broker: Broker, cluster: Cluster, reader: BulkReader
) -> None:
    wanted = whole(cluster, TOPIC)
    delete_before(broker.bootstrap, TOPIC, 10)
    assert from_files(broker, wanted)[0][0] == 0, "the record is still in the file"
    with pytest.raises(OffsetOutOfRange, match="from 10 to 4000"):
        values(reader, wanted)


def test_damage_in_a_file_is_left_to_the_broker(broker: Broker, cluster: Cluster) -> None:
    with segments(broker)[0].open("r+b") as file:
        file.seek(SEGMENT_BYTES // 2)
        file.write(b"damage")
    ends = [end for _, end in from_files(broker, whole(cluster, TOPIC))]
    assert ends[-1] < 1000


def test_a_segment_that_went_away_is_asked_of_the_broker(
    broker: Broker, cluster: Cluster, reader: BulkReader, tmp_path: Path
) -> None:
    """The directory as the reader sees it has lost a file; the broker still holds it open."""
    wanted = whole(cluster, TOPIC)
    segments(broker)[1].rename(tmp_path / "gone")
    assert from_files(broker, wanted)[-1][1] < 2000
    assert numbers(values(reader, wanted)) == list(range(4000))


def test_a_segment_that_cannot_be_read_is_asked_of_the_broker(
    broker: Broker, cluster: Cluster, reader: BulkReader, tmp_path: Path
) -> None:
    wanted = whole(cluster, TOPIC)
    second = segments(broker)[1]
    second.rename(tmp_path / "gone")
    second.mkdir()  # it can be opened, and every read of it fails
    assert numbers(values(reader, wanted)) == list(range(4000))


def test_a_file_deleted_while_it_is_read_is_read_to_its_end(
    broker: Broker, cluster: Cluster, reader: BulkReader
) -> None:
    wanted = whole(cluster, TOPIC)
    reading = reader.read(wanted)
    found = numbers(next(reading)["value"].to_pylist())
    delete_before(broker.bootstrap, TOPIC, 2000)
    with suppress(OffsetOutOfRange):  # once the reader comes to a file that is gone
        for each in reading:
            found += numbers(each["value"].to_pylist())
    assert len(found) >= 1000
    assert found == list(range(len(found)))


def test_the_files_of_another_topic_of_the_same_name_are_not_used(
    broker: Broker, cluster: Cluster, tmp_path: Path
) -> None:
    copied = tmp_path / "copied"
    shutil.copytree(broker.data, copied)
    delete_topic(broker.bootstrap, TOPIC)
    broker.create_topic(TOPIC)
    fill(broker, 10, first=100)
    wanted = whole(cluster, TOPIC)
    topic_id = cluster.topics([TOPIC])[TOPIC].topic_id
    assert not holds(copied, wanted, topic_id)
    assert holds(broker.data, wanted, topic_id)
    reader = BulkReader(cluster, data_directory=copied)
    assert numbers(values(reader, wanted)) == list(range(100, 110))


@pytest.mark.parametrize("directory", ["/no/such/directory", "/proc"])
def test_a_directory_that_is_not_the_brokers_is_not_used(cluster: Cluster, directory: str) -> None:
    reader = BulkReader(cluster, data_directory=Path(directory))
    assert numbers(values(reader, whole(cluster, TOPIC))) == list(range(4000))


def test_compacted_files_are_left_to_the_broker(broker: Broker, cluster: Cluster) -> None:
    """A gap may be compaction or damage: the broker knows."""
    log = segments(broker)[0]
    content = log.read_bytes()
    size = int.from_bytes(content[8:12], "big") + 12
    log.write_bytes(content[:size] + content[2 * size :])
    assert from_files(broker, whole(cluster, TOPIC)) == [(0, 50)]


def test_transactions_are_left_to_the_broker(tmp_path: Path) -> None:
    """Only the broker can say which of them were aborted."""
    log = Log()
    log.append(WrittenBatch([Written(0, 0, None, b"plain", ())]))
    log.append(
        WrittenBatch([Written(0, 0, None, b"t", ())], attributes=TRANSACTIONAL, producer_id=1)
    )
    directory = tmp_path / f"{TOPIC}-0"
    directory.mkdir()
    (directory / f"{0:020d}.log").write_bytes(log.data)
    found = list(read_segments(tmp_path, OffsetRange(TOPIC, 0, 0, 2)))
    assert [header.base_offset for each in found for _, header in each.placed] == []
