"""On a terminal: tables, questions, and answers that count. A pseudo-terminal stands in for one."""

import os
import pty
import select
import subprocess
import sys
from collections.abc import Callable

import pytest

from headwater.client import Client

Ask = Callable[..., tuple[int, str]]


@pytest.fixture
def on_terminal(environment: dict[str, str]) -> Ask:
    """Run a command line on a terminal, and type `answer` when it asks a question."""

    def run(*arguments: str, answer: str = "") -> tuple[int, str]:
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "headwater", *arguments],
            env={**environment, "COLUMNS": "100", "TERM": "xterm"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            close_fds=True,
        )
        os.close(slave)
        screen = ""
        while True:
            readable, _, _ = select.select([master], [], [], 30)
            assert readable, f"nothing more is printed: {screen}"
            try:
                printed = os.read(master, 4096).decode()
            except OSError:  # how Linux says that the other side is closed
                break
            if not printed:
                break
            screen += printed
            if answer and "[y/N]" in screen:
                os.write(master, f"{answer}\n".encode())
                answer = ""
        os.close(master)
        return process.wait(30), screen

    return run


def test_lists_are_tables(on_terminal: Ask, topic: str) -> None:
    code, screen = on_terminal("topic", "list")
    assert code == 0
    assert "partitions" in screen
    assert "─" in screen
    assert "\t" not in screen
    assert topic in screen


def test_a_name_that_is_too_long_for_its_column_is_shown_whole(
    on_terminal: Ask, client: Client
) -> None:
    name = "t-" + "x" * 150 + "-its-end"
    client.admin.topics.create(name, replicas=1)
    try:
        _, screen = on_terminal("topic", "list", name)
    finally:
        client.admin.topics.delete(name)
    assert name in "".join(line.split(" ")[1] for line in screen.split("\r\n") if "x" in line)


def test_a_line_that_is_typed_gets_its_receipt_before_the_next_one(
    environment: dict[str, str], topic: str
) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "headwater", "topic", "produce", topic]
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), slave)
    with subprocess.Popen(command, env=environment, close_fds=True, **streams) as process:  # type: ignore[call-overload]
        os.close(slave)
        os.write(master, b"typed\n")
        screen = ""
        while f"{topic}/0 offset 0" not in screen:
            readable, _, _ = select.select([master], [], [], 30)
            assert readable, f"nothing more is printed: {screen}"
            screen += os.read(master, 4096).decode()
        os.write(master, b"\x04")  # Ctrl-D
        assert process.wait(30) == 0
    os.close(master)


def test_json_stays_json(on_terminal: Ask, topic: str) -> None:
    code, screen = on_terminal("topic", "list", topic, "--json")
    assert code == 0
    assert screen.startswith('{"name":')


@pytest.mark.parametrize(("answer", "code", "left"), [("y", 0, 0), ("n", 1, 1), ("", 1, 1)])
def test_a_destructive_change_asks(
    on_terminal: Ask, client: Client, topic: str, answer: str, code: int, left: int
) -> None:
    client.send(topic, 1)
    found, screen = on_terminal("topic", "delete", topic, answer=answer or "\n")
    assert (found, "Delete" in screen) == (code, True)
    assert client.admin.topics.names().count(topic) == left
    if code:
        assert "nothing was changed" in screen


def test_yes_does_not_ask(on_terminal: Ask, client: Client, topic: str) -> None:
    client.send(topic, 1)
    code, screen = on_terminal("topic", "trim", topic, "--before", "end", "--yes")
    assert (code, "[y/N]" in screen) == (0, False)


def test_records_cannot_move_the_cursor(on_terminal: Ask, client: Client, topic: str) -> None:
    with client.producer(value_format="bytes") as producer:
        producer.send(topic, b"\x1b[2J\x1b]0;owned\x07 hidden\r\n")
    code, screen = on_terminal("topic", "tail", topic, "-o", ":end")
    assert code == 0
    assert "\x1b" not in screen
    assert "\\x1b[2J" in screen
