"""Calls about groups that outlast their time limit: librdkafka must not end the process over them."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Final

import pytest

import headwater
from rigs.headwater_process import HeadwaterProcess

_ASK: Final = """
import sys
from headwater.client import connect
from headwater.client.admin.groups import Move, SeekPlan
from headwater.errors import Unavailable

plan = SeekPlan("g", (Move("t", 0, None, 1, 1),))
with connect(sys.argv[1], timeout_s=2) as client:
    groups = client.admin.groups
    groups.seek(plan)
    print("begun", flush=True)
    input()
    for call in (
        lambda: groups.committed("g"),
        lambda: groups.refuse_if_live("g"),
        lambda: groups.seek(plan),
        lambda: groups.delete("g"),
    ):
        try:
            call()
        except Unavailable:
            print("told", flush=True)
    input()
    while True:
        try:
            print(groups.committed("g"), flush=True)
            break
        except Unavailable:
            pass
"""


@pytest.fixture
def broker() -> Iterator[HeadwaterProcess]:
    with HeadwaterProcess({}) as process:
        yield process


def test_a_process_outlives_calls_about_groups_that_nobody_answered(
    broker: HeadwaterProcess,
) -> None:
    with headwater.connect(broker.bootstrap, timeout_s=30) as client:
        client.admin.topics.create("t", partitions=1)
        client.send("t", 1)
    with subprocess.Popen(
        [sys.executable, "-c", _ASK, broker.bootstrap],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as asking:
        assert asking.stdin
        assert asking.stdout
        assert asking.stderr
        assert asking.stdout.readline() == "begun\n", asking.stderr.read()
        broker.kill()
        asking.stdin.write("gone\n")
        asking.stdin.flush()
        told = [asking.stdout.readline() for _ in range(4)]
        broker.restart()
        out, err = asking.communicate("back\n", timeout=60)

    assert told == ["told\n"] * 4
    assert (out, err, asking.returncode) == ("{('t', 0): 1}\n", "", 0)
