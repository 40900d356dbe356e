"""Where `connect()` finds the broker."""

import json
from pathlib import Path
from typing import Any

import pytest

import headwater
from headwater.client.address import find_address
from headwater.errors import InvalidRequest, Unavailable


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADWATER_BOOTSTRAP", raising=False)


def leave_broker_file(folder: Path, content: str) -> None:
    (folder / ".headwater").mkdir()
    (folder / ".headwater" / "broker.json").write_text(content)


@pytest.mark.parametrize(
    ("given", "bootstrap"),
    [
        ("localhost:9092", "localhost:9092"),
        ("localhost", "localhost:9092"),
        ("kafka://a:1,b:2", "a:1,b:2"),
        ("kafka://a:1/", "a:1"),
        ("[::1]:9093", "[::1]:9093"),
    ],
)
def test_an_address_is_host_and_port_or_a_kafka_url(given: str, bootstrap: str) -> None:
    assert find_address(given).bootstrap == bootstrap


@pytest.mark.parametrize("given", [9092, "http://a:1", "a:port", "a:0", "a:70000", "", "a:1,,b:2"])
def test_what_is_not_an_address_is_refused(given: Any) -> None:
    with pytest.raises(InvalidRequest, match="not an address"):
        find_address(given)


def test_the_broker_of_this_folder_is_found_from_a_folder_inside(tmp_path: Path) -> None:
    leave_broker_file(tmp_path, json.dumps({"bootstrap": "127.0.0.1:4711", "pid": 1}))
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    assert find_address(folder=inside).bootstrap == "127.0.0.1:4711"


def test_the_environment_comes_before_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_broker_file(tmp_path, json.dumps({"bootstrap": "127.0.0.1:4711", "pid": 1}))
    monkeypatch.setenv("HEADWATER_BOOTSTRAP", "elsewhere:1")
    assert find_address(folder=tmp_path).bootstrap == "elsewhere:1"
    monkeypatch.setenv("HEADWATER_BOOTSTRAP", "")
    assert find_address(folder=tmp_path).bootstrap == "127.0.0.1:4711"


def test_without_anything_it_is_localhost(tmp_path: Path) -> None:
    assert find_address(folder=tmp_path).bootstrap == "localhost:9092"


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"bootstrap": 7}'])
def test_a_broken_broker_file_is_named(tmp_path: Path, content: str) -> None:
    leave_broker_file(tmp_path, content)
    with pytest.raises(InvalidRequest, match=r"broker\.json"):
        find_address(folder=tmp_path)


def test_nothing_listening_is_one_sentence_at_once() -> None:
    with pytest.raises(Unavailable) as refused:
        headwater.connect("127.0.0.1:1")
    assert refused.value.what == "cannot reach a broker at 127.0.0.1:1: connection refused"
    assert refused.value.hint
    assert refused.value.retriable


def test_a_name_that_no_host_can_have_is_one_sentence() -> None:
    with pytest.raises(Unavailable, match=r"'a\.\.b' is not the name of a host"):
        headwater.connect("a..b:1")
