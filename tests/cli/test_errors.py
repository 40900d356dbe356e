"""Errors: one sentence and a hint on stderr, nothing on stdout, the exit code of their class."""

import os

import pytest

from cli.conftest import Run
from headwater import errors
from headwater.cli.exit_codes import exit_code_of
from headwater.cli.main import run


def test_usage_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["nope"], ["topic", "nope"], ["topic", "tail"], ["topic", "list", "--nope"]):
        assert run(arguments) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("error: ")
        assert "\nhint: " in printed.err


@pytest.mark.parametrize("arguments", [[], ["topic"], ["group"], ["log"], ["view"], ["pipeline"]])
def test_a_name_alone_gets_the_help_and_no_error(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"Usage: {' '.join(['headwater', *arguments])} ")
    assert "error:" not in printed.err
    assert "Commands:" in printed.err


def test_a_mistyped_command_is_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["topic", "creat"]) == 2
    assert "did you mean 'create'?" in capsys.readouterr().err


def test_a_missing_topic_is_3_with_the_nearest_name(headwater: Run, topic: str) -> None:
    result = headwater("topic", "describe", f"{topic}x")
    assert (result.code, result.out) == (3, "")
    assert f"did you mean {topic!r}?" in result.err


def test_only_who_writes_to_a_missing_topic_is_told_to_create_it(headwater: Run) -> None:
    create = "create it with: headwater topic create no-such-topic"
    assert create in headwater("topic", "produce", "no-such-topic", "x").err
    for arguments in (["delete", "no-such-topic"], ["tail", "no-such-topic"]):
        result = headwater("topic", *arguments)
        assert result.code == 3
        assert create not in result.err
        assert "headwater topic list" in result.err


def test_a_missing_group_is_3(headwater: Run) -> None:
    assert headwater("group", "describe", "no-such-group").code == 3


def test_no_broker_is_4(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["topic", "list", "--bootstrap", "127.0.0.1:1"]) == 4
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [
        "error: cannot reach a broker at 127.0.0.1:1: connection refused",
        "hint: is the broker running, and is the address right?",
    ]


def test_a_conflict_is_5(headwater: Run, topic: str) -> None:
    result = headwater("topic", "create", topic)
    assert result.code == 5
    assert "exists already" in result.err


def test_a_bad_position_is_2(headwater: Run, topic: str) -> None:
    result = headwater("topic", "tail", topic, "-o", "yesterday")
    assert (result.code, result.out) == (2, "")
    assert "'yesterday' is not a position" in result.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["topic", "create", "ODD"],
        ["topic", "create", "t", "--set", "retention.ms=ODD"],
        ["topic", "tail", "t", "--group", "ODD"],
        ["topic", "list", "--bootstrap", "ODD"],
        ["--profile", "ODD", "topic", "list"],
    ],
)
def test_a_name_that_is_not_text_does_not_reach_librdkafka(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    odd = os.fsdecode(b"\xff\xfe")
    assert run([each.replace("ODD", odd) for each in arguments]) == 2
    assert "is not text in UTF-8" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["create", "TOPIC-new", "--partitions", 2**70],
        ["alter", "TOPIC", "--partitions", 2**70],
        ["produce", "TOPIC", "a", "--timestamp", 2**70],
        ["tail", "TOPIC", "-o", f"{2**70}:end"],
        ["export", "TOPIC", "--range", f"{2**70}:end"],
    ],
)
def test_a_number_that_is_too_large_is_2(
    headwater: Run, topic: str, arguments: list[object]
) -> None:
    result = headwater("topic", *(str(each).replace("TOPIC", topic) for each in arguments))
    assert result.code == 2
    assert result.err.startswith("error: ")


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.HeadwaterError, 1),
        (errors.Corruption, 1),
        (errors.NotSupported, 1),
        (errors.UnreadableValue, 1),
        (errors.RecordTooLarge, 1),
        (errors.InvalidRequest, 2),
        (errors.NotFound, 3),
        (errors.Unavailable, 4),
        (errors.StorageFailed, 4),
        (errors.Conflict, 5),
        (errors.Fenced, 5),
    ],
)
def test_every_class_of_error_has_its_code(kind: type[errors.HeadwaterError], code: int) -> None:
    assert exit_code_of(kind(what="x")) == code
