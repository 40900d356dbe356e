"""Settings: which place wins, where each value came from, and one clear sentence for what is wrong."""

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from headwater.config import BrokerSettings, join_address, resolve, split_address
from headwater.errors import InvalidRequest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "headwater.toml"


def test_without_anything_every_value_is_the_default(file: Path) -> None:
    found = resolve({}, {}, file)
    assert found.settings == BrokerSettings()
    assert set(found.origins.values()) == {"default"}
    assert list(found.origins) == [each.name for each in fields(BrokerSettings)]


def test_a_flag_beats_a_variable_beats_the_file_beats_the_default(file: Path) -> None:
    file.write_text("[broker]\nmax_connections = 1\nnum_partitions = 1\nflush_ms = 1\n")
    environment = {"HEADWATER_MAX_CONNECTIONS": "2", "HEADWATER_NUM_PARTITIONS": "2"}
    found = resolve({"max_connections": "3", "num_partitions": None}, environment, file)
    settings = found.settings
    assert (settings.max_connections, settings.num_partitions, settings.flush_ms) == (3, 2, 1)
    assert found.origins["max_connections"] == "--max-connections"
    assert found.origins["num_partitions"] == "HEADWATER_NUM_PARTITIONS"
    assert found.origins["flush_ms"] == str(file)
    assert found.origins["max_idle_ms"] == "default"


@pytest.mark.parametrize("word", ["true", "True", "yes", "1"])
def test_words_for_true(word: str) -> None:
    assert resolve({}, {"HEADWATER_AUTO_CREATE_TOPICS": word}).settings.auto_create_topics is True


@pytest.mark.parametrize("word", ["false", "FALSE", "no", "0"])
def test_words_for_false(word: str) -> None:
    assert resolve({}, {"HEADWATER_AUTO_CREATE_TOPICS": word}).settings.auto_create_topics is False


def test_topic_defaults_are_a_table_or_pairs(file: Path) -> None:
    file.write_text(
        '[broker]\ntopic_defaults = { "retention.ms" = 1000, "preallocate" = "true" }\n'
    )
    written = resolve({}, {}, file).settings.topic_defaults
    assert written == {"retention.ms": "1000", "preallocate": "true"}
    given = resolve({"topic_defaults": "retention.ms=5, cleanup.policy=compact"}, {})
    assert given.settings.topic_defaults == {"retention.ms": "5", "cleanup.policy": "compact"}


def test_a_topic_default_needs_no_quotes_in_a_file(file: Path) -> None:
    file.write_text(
        "\ufeff[broker.topic_defaults]\nretention.ms = 5\npreallocate = true\n", encoding="utf-8"
    )
    assert resolve({}, {}, file).settings.topic_defaults == {
        "retention.ms": "5",
        "preallocate": "true",
    }


def test_a_topic_default_may_be_a_list() -> None:
    given = {"HEADWATER_TOPIC_DEFAULTS": "cleanup.policy=compact, delete,retention.ms=5"}
    assert resolve({}, given).settings.topic_defaults == {
        "cleanup.policy": "compact,delete",
        "retention.ms": "5",
    }


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"max_connections": "many"}, "max_connections must be a whole number, not 'many'"),
        ({"max_connections": "0"}, "max_connections must be 1 or more, not '0'"),
        ({"max_connections": "1.5"}, "max_connections must be a whole number"),
        ({"flush_ms": "-1"}, "flush_ms must be 0 or more"),
        ({"flush_ms": str(2**63)}, "flush_ms must be 9223372036854775807 or less"),
        ({"num_partitions": "10001"}, "num_partitions must be 10000 or less, not '10001'"),
        ({"max_request_bytes": "3000000000"}, "max_request_bytes must be 2147483647 or less"),
        ({"auto_create_topics": "maybe"}, "auto_create_topics must be true or false"),
        ({"topic_defaults": "retention.ms"}, "topic_defaults must be NAME=VALUE pairs"),
    ],
)
def test_a_wrong_flag_is_one_sentence(flags: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        resolve(flags, {})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "[broker]\nmax_conections = 1\n",
            "unknown setting 'max_conections'.*meant: max_connections",
        ),
        ("[broker]\nnum-partitions = 1\n", "'num-partitions'.*meant: num_partitions"),
        ("[brokr]\nmax_connections = 1\n", "unknown table 'brokr'"),
        ("[broker]\nnum_partitions = 2.7\n", "num_partitions must be a whole number"),
        ("[broker]\nnum_partitions = true\n", "num_partitions must be a whole number"),
        ("[broker]\nlisten = 9092\n", "listen must be text"),
        ("[broker]\nauto_create_topics = 2\n", "auto_create_topics must be true or false"),
        ("broker = 5\n", "broker must be a table"),
        ("[broker\n", "not valid TOML"),
    ],
)
def test_a_wrong_file_is_one_sentence_that_names_it(file: Path, content: str, message: str) -> None:
    file.write_text(content)
    with pytest.raises(InvalidRequest, match=message) as raised:
        resolve({}, {}, file)
    assert str(file) in raised.value.what
    assert "\n" not in str(raised.value)


def test_a_file_that_cannot_be_read_is_one_sentence(file: Path) -> None:
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidRequest, match="not valid TOML"):
        resolve({}, {}, file)
    with pytest.raises(InvalidRequest, match="cannot be read"):
        resolve({}, {}, file.parent)


def test_a_misspelt_variable_is_not_ignored() -> None:
    with pytest.raises(InvalidRequest, match="HEADWATER_MAX_CONNECTIONS"):
        resolve({}, {"HEADWATER_MAX_CONECTIONS": "5"})
    resolve({}, {"HEADWATER_BOOTSTRAP": "localhost:9092", "HEADWATER_CACHE": "/tmp", "PATH": ""})


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("127.0.0.1:9092", ("127.0.0.1", 9092)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:9092", ("::1", 9092)),
    ],
)
def test_an_address_is_a_host_and_a_port(address: str, parts: tuple[str, int]) -> None:
    assert split_address(address) == parts


@pytest.mark.parametrize(
    "address", ["", "localhost", ":9092", "host:", "host:port", "host:-1", "host:65536", "host:²"]
)
def test_what_is_no_address_is_named(address: str) -> None:
    with pytest.raises(InvalidRequest, match="is not HOST:PORT"):
        split_address(address)


def test_the_reference_is_up_to_date() -> None:
    command = [sys.executable, ROOT / "tools" / "configuration_reference.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("address", ["127.0.0.1:9092", "[::1]:9092", "broker.example:1"])
def test_an_address_is_joined_as_it_is_split(address: str) -> None:
    assert join_address(*split_address(address)) == address
