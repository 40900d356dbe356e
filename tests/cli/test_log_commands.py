"""`headwater log`: the files of a broker, offline."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

import headwater as hw
from cli.test_json_contract import SCHEMAS, strict
from conformance.raw import Connection
from conformance.transactional import Transactional
from headwater.cli.main import run
from headwater.client.record_json import Line, parse_exact
from headwater.testing import Broker


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A directory in which a broker has stored three records, of which one batch may be damaged."""
    with Broker(data=tmp_path) as broker, hw.connect(broker.bootstrap) as client:
        client.admin.topics.create("orders", partitions=1)
        for number in range(3):
            client.send("orders", {"number": number}, key=str(number))
    return tmp_path


def documents(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_sound_files_verify(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "verify", str(data), "--json"]) == 0

    reports = documents(capsys)
    for each in reports:
        jsonschema.validate(each, strict(SCHEMAS["headwater log verify"]))
    orders = next(each for each in reports if each["partition"] == "orders-0")
    assert (orders["records"], orders["next"], orders["state"]) == (3, 3, "ok")


def test_lost_segment_is_found(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data / "orders-0" / f"{0:020d}.log").unlink()

    assert run(["log", "verify", str(data), "--json"]) == 1

    orders = next(each for each in documents(capsys) if each["partition"] == "orders-0")
    assert (orders["records"], orders["state"]) == (0, "damaged")


def test_flipped_bit_is_found_and_nothing_is_changed(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    segment = data / "orders-0" / f"{0:020d}.log"
    damaged = bytearray(segment.read_bytes())
    damaged[70] ^= 1
    segment.write_bytes(damaged)

    assert run(["log", "verify", str(data), "--json"]) == 1

    captured = capsys.readouterr()
    reports = [json.loads(line) for line in captured.out.splitlines()]
    orders = next(each for each in reports if each["partition"] == "orders-0")
    assert orders["state"] == "damaged"
    assert "fails its checksum" in str(orders["damage"])
    assert segment.read_bytes() == damaged


def test_verify_of_a_folder_without_data_is_not_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["log", "verify", str(tmp_path)]) == 3
    assert "there are no partitions in" in capsys.readouterr().err


def test_dump_prints_batches_and_records(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "dump", str(data / "orders-0"), "--json"]) == 0
    batches = documents(capsys)
    for each in batches:
        jsonschema.validate(each, strict(SCHEMAS["headwater log dump"]))
    assert [each["offset"] for each in batches] == [0, 1, 2]

    assert run(["log", "dump", str(data / "orders-0"), "--records", "--from", "1", "--json"]) == 0
    records = documents(capsys)
    for each in records:
        jsonschema.validate(each, strict(SCHEMAS["headwater topic export"]))
    assert [(each["offset"], each["key"]) for each in records] == [(1, "1"), (2, "2")]
    assert records[0]["value"] == {"number": 1}
    assert (records[0]["topic"], records[0]["partition"]) == ("orders", 0)


def test_a_dumped_record_is_imported_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = [b"\xfe\xff", b"\\xfe\\xff", b'{"a": 1}', b"text", None]
    with Broker(data=tmp_path) as broker, hw.connect(broker.bootstrap) as client:
        client.admin.topics.create("orders", partitions=1)
        with client.producer(value_format="bytes") as producer:
            for value in values:
                producer.send("orders", value, key=b"\xff", headers=[("h", b"\xff")], timestamp=7)

    assert run(["log", "dump", str(tmp_path / "orders-0"), "--records", "--json"]) == 0
    lines = [parse_exact(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        Line(0, offset, 7, b"\xff", value, (("h", b"\xff"),)) for offset, value in enumerate(values)
    ]


def test_a_directory_of_another_name_is_dumped_without_a_partition(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (data / "orders-0").rename(data / "orders-0.bak")
    assert run(["log", "dump", str(data / "orders-0.bak"), "--records", "--json"]) == 0
    assert {(each["topic"], each["partition"]) for each in documents(capsys)} == {
        ("orders-0.bak", None)
    }


@pytest.mark.parametrize("verb", ["dump", "verify"])
def test_a_file_is_not_taken_for_a_directory(
    data: Path, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["log", verb, str(data / "orders-0" / f"{0:020d}.log")]) == 2
    assert "is a file" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["-n", "-1"], ["-n", str(2**70)], ["--from", "-1"]])
def test_a_number_that_counts_nothing_is_refused(data: Path, arguments: list[str]) -> None:
    assert run(["log", "dump", str(data / "orders-0"), *arguments]) == 2


def test_dump_stops_at_damage_with_an_error(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    segment = data / "orders-0" / f"{0:020d}.log"
    damaged = bytearray(segment.read_bytes())
    damaged[-1] ^= 1
    segment.write_bytes(damaged)

    assert run(["log", "dump", str(data / "orders-0"), "--json"]) == 1

    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 2
    assert captured.err.startswith("error: the batch at offset 2 fails its checksum")


def test_transactions_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Broker(data=tmp_path) as broker, Connection(broker.bootstrap) as connection:
        broker.create_topic("orders")
        producer = Transactional(connection, "app").start()
        for commit in (True, False):
            producer.send("orders", b"a", b"b")
            producer.finish(commit=commit)

    assert run(["log", "dump", str(tmp_path / "orders-0"), "--json"]) == 0
    batches = documents(capsys)
    for each in batches:
        jsonschema.validate(each, strict(SCHEMAS["headwater log dump"]))
    assert [each["transaction"] for each in batches] == ["part", "commit", "part", "abort"]
    assert run(["log", "dump", str(tmp_path / "orders-0"), "--records", "--json"]) == 0
    assert [each["value"] for each in documents(capsys)] == ["a", "b"] * 2
    assert run(["log", "verify", str(tmp_path), "--json"]) == 0
    orders = next(each for each in documents(capsys) if each["partition"] == "orders-0")
    jsonschema.validate(orders, strict(SCHEMAS["headwater log verify"]))
    assert (orders["records"], orders["markers"], orders["batches"]) == (4, 2, 4)


def test_damaged_index_of_aborted_transactions_is_found(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = data / "orders-0" / f"{0:020d}.txnindex"
    index.write_bytes(index.read_bytes()[:-1])

    assert run(["log", "verify", str(data)]) == 1
    assert "txnindex" in capsys.readouterr().err


def test_compacted_log_is_dumped_with_its_gaps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Broker(data=tmp_path, compaction_check_ms=10) as broker:

        async def compact() -> None:
            log = broker.embedded.metadata.partition.log
            log.settings = replace(log.settings, segment_bytes=200)
            for number in range(20):
                await broker.embedded.metadata.write("topic/x", {"number": number})
            await broker.embedded._housekeeping.compact()
            await broker.embedded.metadata.write("topic/x", None)

        broker.call(compact)

    assert run(["log", "dump", str(tmp_path / "__cluster_metadata-0"), "--json"]) == 0
    offsets = [each["offset"] for each in documents(capsys)]
    assert offsets == sorted(offsets)
    assert len(offsets) < offsets[-1] + 1
