"""`headwater topic import`: it goes on where it broke off, with the same file and no other."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import Run
from cli.test_import_export import content, fill
from headwater.client import Client


def test_an_import_goes_on_where_it_broke_off(
    headwater: Run, client: Client, topic: str, tmp_path: Path
) -> None:
    lines = [json.dumps({"value": number}) for number in range(2500)]
    file = tmp_path / "records.jsonl"
    file.write_text("\n".join([*lines[:2100], "broken", *lines[2100:]]) + "\n")
    result = headwater("topic", "import", topic, file)
    assert result.code == 1
    assert "record 2101" in result.err
    assert (tmp_path / "records.jsonl.progress").exists()
    file.write_text("\n".join(lines) + "\n")
    (done,) = headwater("topic", "import", topic, file, "--json").documents
    assert done == {"topic": topic, "records": 500, "resumed": True}
    with client.consumer(topic, until="end") as records:
        seen = [record.value for record in records]
    # The 100 lines of the chunk that broke were sent, and are sent again: at least once.
    assert set(seen) == set(range(2500))
    assert seen[:2000] == list(range(2000))


@pytest.fixture
def broken_off(headwater: Run, topic: str, tmp_path: Path) -> Path:
    """A file of which a thousand lines have been imported, and the note of that beside it."""
    file = tmp_path / "records.jsonl"
    file.write_text("".join(f'{{"value":{number}}}\n' for number in range(1000, 2000)) + "broken\n")
    assert headwater("topic", "import", topic, file).code == 1
    assert file.with_name("records.jsonl.progress").exists()
    return file


def test_an_import_that_goes_on_says_where(headwater: Run, topic: str, broken_off: Path) -> None:
    still_broken = headwater("topic", "import", topic, broken_off)
    assert still_broken.code == 1
    assert f"{broken_off} record 1001:" in still_broken.err, "counted from the start of the file"
    broken_off.write_text(broken_off.read_text().replace("broken", '{"value":0}'))
    result = headwater("topic", "import", topic, broken_off)
    assert result.err == "resumed at line 1001\n"
    assert result.out == f"imported 1 records into {topic}\n"


@pytest.mark.parametrize(
    "numbers",
    [range(3000, 4500), range(30_000, 31_500), range(3)],
    ids=["as long", "longer", "shorter"],
)
def test_an_import_does_not_skip_the_start_of_another_file(
    headwater: Run, client: Client, topic: str, broken_off: Path, numbers: range
) -> None:
    broken_off.write_text("".join(f'{{"value":{number}}}\n' for number in numbers))
    result = headwater("topic", "import", topic, broken_off)
    assert result.code == 5
    assert "is not the file whose import broke off" in result.err
    assert "--restart" in result.err
    assert len(content(client, topic)) == 1000
    assert headwater("topic", "import", topic, broken_off, "--restart").code == 0
    assert len(content(client, topic)) == 1000 + len(numbers)


@pytest.mark.parametrize(
    "note", ['{"topic": "other", "lines": 1, "bytes": 5, "sha256": ""}', '{"bytes": 5}', "nonsense"]
)
def test_a_note_that_is_not_of_this_import_is_not_used(
    headwater: Run, topic: str, tmp_path: Path, note: str
) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text('{"value": 1}\n')
    (tmp_path / "records.jsonl.progress").write_text(note)
    assert headwater("topic", "import", topic, file).code == 5
    assert headwater("topic", "import", topic, file, "--restart").code == 0


def test_a_note_of_an_earlier_version_is_not_taken_for_that_of_this_file(
    headwater: Run, topic: str, tmp_path: Path
) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text('{"value": 1}\n{"value": 2}\n')
    (tmp_path / "records.jsonl.progress").write_text(f'{{"topic": "{topic}", "bytes": 13}}')
    result = headwater("topic", "import", topic, file)
    assert result.code == 5
    assert "does not say which file it belongs to" in result.err


def test_what_is_exported_into_a_pipe_is_imported_from_it(
    headwater: Run, client: Client, new_topic: Callable[..., str]
) -> None:
    source, copy = new_topic(), new_topic()
    fill(client, source, 50, partitions=1)
    exported = headwater("topic", "export", source).out.encode()
    assert headwater("topic", "import", copy, "-", stdin=exported).code == 0
    assert content(client, copy) == content(client, source)


def test_an_input_that_cannot_be_read_twice_is_imported_without_a_note(
    headwater_process: Callable[..., subprocess.Popen[bytes]], topic: str
) -> None:
    process = headwater_process("topic", "import", topic, "/dev/stdin", stdin=subprocess.PIPE)
    out, err = process.communicate(b'{"value":1}\n' * 1500)
    assert (process.returncode, err) == (0, b"")
    assert out == f"imported 1500 records into {topic}\n".encode()


def test_a_place_without_room_for_a_note_is_said_before_and_does_not_end_the_import(
    headwater: Run, client: Client, topic: str
) -> None:
    file = Path("/proc/cpuinfo")  # not even root can write beside it
    result = headwater("topic", "import", topic, file, "--format", "raw")
    assert result.code == 0
    assert result.err.startswith("cannot write /proc/cpuinfo.progress: ")
    assert len(content(client, topic)) == len(file.read_bytes().splitlines())


def test_who_imports_into_a_missing_topic_is_told_how_to_create_it(headwater: Run) -> None:
    result = headwater("topic", "import", "no-such-topic", "-")
    assert result.code == 3
    assert "create it with: headwater topic create no-such-topic" in result.err


@pytest.mark.parametrize(
    "line",
    [
        '{"value": null, "value_base64": 5}',
        '{"value": null, "value_text": 5}',
        '{"value": 1, "headers": 5}',
        f'{{"value": 1, "timestamp_ms": {2**63}}}',
        '{"value": "\\ud800"}',
        '{"value": ' + "[" * 100_000,
        "[]",
        "",
    ],
    ids=["base64", "text", "headers", "time", "surrogate", "deep", "list", "empty"],
)
def test_a_line_that_is_no_record_is_named(
    headwater: Run, topic: str, tmp_path: Path, line: str
) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text(f'{{"value": 1}}\n{line}\n')
    result = headwater("topic", "import", topic, file)
    assert result.code == 1
    assert f"error: {file} record 2: " in result.err
