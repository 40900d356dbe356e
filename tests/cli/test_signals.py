"""Ctrl-C, SIGTERM and a reader that leaves: no stack trace, no noise."""

import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from headwater.client import Client

Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def long_topic(client: Client, topic: str) -> str:
    with client.producer(value_format="bytes") as producer:
        for _ in range(50_000):
            producer.send(topic, b"x" * 100)
    return topic


def test_ctrl_c_ends_a_tail(headwater_process: Start, client: Client, topic: str) -> None:
    client.send(topic, "there")
    process = headwater_process("topic", "tail", topic, "-f", "%v\\n")
    assert process.stdout is not None
    assert process.stdout.readline() == b'"there"\n'
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20) == (b"", b"")
    assert process.returncode == 130


def test_ctrl_c_keeps_the_place_of_a_group(
    headwater_process: Start, client: Client, topic: str, group: str
) -> None:
    client.send(topic, "there")
    process = headwater_process("topic", "tail", topic, "--group", group, "-f", "%v\\n")
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20) == (b"", b"")
    assert client.admin.groups.describe(group).partitions[0].committed in (0, 1)


INTERRUPT_WHILE_CLICK_IS_LOADED = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupt())
sys.argv = ["headwater", "topic", "list"]
import runpy
runpy.run_module("headwater", run_name="__main__")
"""


def test_ctrl_c_while_the_command_is_loaded_prints_no_stack() -> None:
    command = [sys.executable, "-c", INTERRUPT_WHILE_CLICK_IS_LOADED]
    ended = subprocess.run(command, capture_output=True, check=False, timeout=30)
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, b"", b"")


def test_sigterm_leaves_the_group_as_ctrl_c_does(
    headwater_process: Start, client: Client, topic: str, group: str
) -> None:
    client.send(topic, "there")
    process = headwater_process("topic", "tail", topic, "--group", group, "-f", "%v\\n")
    assert process.stdout is not None
    process.stdout.readline()
    process.terminate()
    assert process.communicate(timeout=20) == (b"", b"")
    assert process.returncode == 143
    assert client.admin.groups.describe(group).members == ()


@pytest.mark.parametrize(
    "arguments", [["tail", "-o", ":end"], ["tail", "-o", ":end", "--json"], ["export"]]
)
def test_a_reader_that_has_had_enough_is_not_an_error(
    headwater_process: Start, long_topic: str, arguments: list[str]
) -> None:
    verb, *options = arguments
    with headwater_process("topic", verb, long_topic, *options) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(20) == 0


def test_an_error_of_a_process_has_its_exit_code(headwater_process: Start) -> None:
    process = headwater_process("topic", "list", "--bootstrap", "127.0.0.1:1")
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (4, b"")
    assert err.count(b"\n") == 2
