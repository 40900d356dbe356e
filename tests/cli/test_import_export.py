"""`headwater topic export` and `import`: what goes out comes back; an export goes on after a break."""

import resource
from collections.abc import Callable
from pathlib import Path

from cli.conftest import Run
from headwater.client import Client

VALUES = [b'{"a":1}', b'{"a": 1}', b"text", b"\xff\x00", b"", None, b"null", b"line\nbreak"]


def fill(client: Client, topic: str, count: int, partitions: int = 3) -> None:
    with client.producer(value_format="bytes") as producer:
        for number in range(count):
            producer.send(
                topic,
                VALUES[number % len(VALUES)],
                key=[None, "k", b"\xfe", "ü"][number % 4],
                headers=[("h", b"\xff"), ("h", "2"), ("none", None)][: number % 4],
                timestamp=1_700_000_000_000 + number,
                partition=number % partitions,
            )


def content(client: Client, topic: str) -> list[tuple[object, ...]]:
    with client.consumer(topic, until="end", value_format="bytes") as records:
        return sorted(
            (r.partition, r.offset, r.timestamp_ms, r.key_bytes or b"", r.value or b"", r.headers)
            for r in records
        )


def test_exported_records_are_imported_as_they_were(
    headwater: Run, client: Client, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    source, copy = new_topic(partitions=3), new_topic(partitions=3)
    fill(client, source, 500)
    file = tmp_path / "records.jsonl"
    assert headwater("topic", "export", source, "-o", file).err == (
        f"exported 500 records of {source}\n"
    )
    assert headwater("topic", "import", copy, file).out == f"imported 500 records into {copy}\n"
    assert content(client, copy) == content(client, source)
    assert not (tmp_path / "records.jsonl.progress").exists()


def test_an_export_goes_on_where_it_broke_off(
    headwater: Run, client: Client, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic = new_topic(partitions=3)
    fill(client, topic, 100)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    headwater("topic", "export", topic, "-o", whole)
    broken.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    assert headwater("topic", "export", topic, "-o", broken).code == 2, "never overwritten"
    assert headwater("topic", "export", topic, "-o", broken, "--resume").code == 0
    assert sorted(broken.read_text().splitlines()) == sorted(whole.read_text().splitlines())


def test_an_export_does_not_go_on_with_a_foreign_file(
    headwater: Run, topic: str, tmp_path: Path
) -> None:
    file = tmp_path / "foreign"
    file.write_text("not ours\n")
    result = headwater("topic", "export", topic, "-o", file, "--resume")
    assert result.code == 1
    assert file.read_text() == "not ours\n"


def test_an_export_does_not_go_on_with_the_file_of_another_topic(
    headwater: Run, client: Client, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    first, second = new_topic(), new_topic()
    for topic, count in ((first, 5), (second, 8)):
        fill(client, topic, count, partitions=1)
    file = tmp_path / "records.jsonl"
    headwater("topic", "export", first, "-o", file)
    before = file.read_bytes()
    result = headwater("topic", "export", second, "-o", file, "--resume")
    assert result.code == 5
    assert f"line 1 is a record of topic {first!r}, not of {second!r}" in result.err
    assert file.read_bytes() == before


def test_an_export_does_not_go_on_with_the_file_of_an_earlier_topic_of_its_name(
    headwater: Run, client: Client, topic: str, tmp_path: Path
) -> None:
    fill(client, topic, 8, partitions=1)
    file = tmp_path / "records.jsonl"
    headwater("topic", "export", topic, "-o", file)
    client.admin.topics.delete(topic)
    client.admin.topics.create(topic)
    fill(client, topic, 5, partitions=1)
    result = headwater("topic", "export", topic, "-o", file, "--resume")
    assert result.code == 5
    assert "it was made anew" in result.err


def test_an_export_to_a_place_that_cannot_be_written_is_one_sentence(
    headwater: Run, topic: str, tmp_path: Path
) -> None:
    missing = tmp_path / "missing" / "records.jsonl"
    result = headwater("topic", "export", topic, "-o", missing)
    assert result.code == 2
    assert f"cannot write {missing}: no such file or directory" in result.err
    assert headwater("topic", "export", topic, "-o", tmp_path, "--resume").code == 2
    endless = headwater("topic", "export", topic, "-o", "/dev/zero", "--resume")
    assert endless.code == 2
    assert "not a file" in endless.err


def test_an_export_that_finds_no_more_room_can_go_on(
    headwater: Run, client: Client, topic: str, tmp_path: Path
) -> None:
    fill(client, topic, 500, partitions=1)
    file = tmp_path / "records.jsonl"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16 << 10, before[1]))
    try:
        result = headwater("topic", "export", topic, "-o", file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert result.code == 1
    assert result.err.splitlines() == [
        f"error: cannot write {file}: file too large",
        "hint: make room, then go on with --resume",
    ]
    assert headwater("topic", "export", topic, "-o", file, "--resume").code == 0
    assert len(file.read_bytes().splitlines()) == 500


def test_a_topic_with_too_few_partitions_is_refused(
    headwater: Run, client: Client, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, file = new_topic(partitions=1), tmp_path / "records.jsonl"
    file.write_text('{"value": 1, "partition": 4}\n')
    result = headwater("topic", "import", topic, file)
    assert result.code == 5
    assert f"headwater topic alter {topic} --partitions 5" in result.err
    assert headwater("topic", "import", topic, file, "--repartition").code == 0
    assert len(content(client, topic)) == 1


def test_raw_files_are_values_line_by_line(
    headwater: Run, client: Client, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, file = new_topic(), tmp_path / "lines.txt"
    file.write_bytes(b"a\n\xff\n\nlast")
    headwater("topic", "import", topic, file, "--format", "raw")
    out = tmp_path / "out.txt"
    headwater("topic", "export", topic, "--format", "raw", "-o", out)
    assert out.read_bytes() == b"a\n\xff\n\nlast\n"
    client.producer(value_format="bytes").send(topic, b"two\nlines").result()
    broken = headwater("topic", "export", topic, "--format", "raw", "-o", tmp_path / "x")
    assert broken.code == 2
    assert "jsonl" in broken.err


def test_a_range_goes_to_stdout(headwater: Run, client: Client, topic: str) -> None:
    for number in range(5):
        client.send(topic, number)
    result = headwater("topic", "export", topic, "--range", "1:3")
    assert [document["value"] for document in result.documents] == [1, 2]
    assert headwater("topic", "export", topic, "--range", "1:3", "-o", "-").out == result.out
    assert headwater("topic", "export", topic, "--range", "start").code == 2
