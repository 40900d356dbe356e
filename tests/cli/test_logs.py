"""Logs on stderr: a line for people, or JSON for machines."""

import json
import logging
from collections.abc import Iterator

import pytest

from headwater.cli.logs import JsonLines, TextLines, configure_logs
from headwater.errors import InvalidRequest


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    before = (root.level, root.handlers[:])
    yield root
    root.setLevel(before[0])
    root.handlers[:] = before[1]


def record(**extra: object) -> logging.LogRecord:
    made = logging.LogRecord(
        "headwater.broker", logging.WARNING, "f.py", 1, "sync %s", ("slow",), None
    )
    vars(made).update(extra)
    return made


def test_a_line_for_people_ends_with_what_is_known() -> None:
    line = TextLines().format(record(partition="orders-0", took_s=1.5))
    assert line.endswith("WARNING sync slow partition=orders-0 took_s=1.5")


def test_json_is_one_document_per_line() -> None:
    line = JsonLines().format(record(partition="orders-0", path=object))
    document = json.loads(line)
    assert "\n" not in line
    assert document["level"] == "warning"
    assert document["message"] == "sync slow"
    assert document["logger"] == "headwater.broker"
    assert document["partition"] == "orders-0"


def test_json_carries_the_exception_in_its_line() -> None:
    error = OSError("disk full\nreally")
    made = record(exc_info=(OSError, error, None))
    line = JsonLines().format(made)
    assert "\n" not in line
    assert "disk full" in json.loads(line)["exception"]


def test_logs_go_to_stderr_from_their_level_on(
    root_logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs("warning", "json")
    logging.getLogger("headwater.test").info("not this")
    logging.getLogger("headwater.test").warning("this")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert [json.loads(line)["message"] for line in captured.err.splitlines()] == ["this"]
    assert len(root_logger.handlers) == 1


@pytest.mark.parametrize(("level", "style"), [("loud", "text"), ("info", "xml")])
def test_an_unknown_level_or_format_is_named(level: str, style: str) -> None:
    with pytest.raises(InvalidRequest, match=r"loud|xml"):
        configure_logs(level, style)
