"""`headwater topic tail`."""

import subprocess
from collections.abc import Callable

import pytest

from cli.conftest import Run
from headwater.client import Client


@pytest.fixture
def orders(client: Client, topic: str) -> str:
    with client.producer() as producer:
        for number in range(20):
            producer.send(
                topic,
                {"id": number, "total": number * 10},
                key=str(number % 3),
                headers={"kind": "new"},
                timestamp=1_700_000_000_000 + number,
            )
    return topic


def test_a_pipe_gets_tab_separated_lines_with_a_header(headwater: Run, orders: str) -> None:
    result = headwater("topic", "tail", orders, "-o", "2:4")
    assert result.code == 0
    assert result.out.splitlines() == [
        "topic\tpartition\toffset\ttimestamp\tkey\tvalue",
        f'{orders}\t0\t2\t2023-11-14T22:13:20.002+00:00\t2\t{{"id":2,"total":20}}',
        f'{orders}\t0\t3\t2023-11-14T22:13:20.003+00:00\t0\t{{"id":3,"total":30}}',
    ]


def test_tabs_and_line_breaks_do_not_break_the_lines(headwater: Run, topic: str) -> None:
    headwater("topic", "produce", topic, "a\tb\nc\\d")
    assert headwater("topic", "tail", topic, "-o", ":end").rows[0][5] == "a\\tb\\nc\\\\d"


@pytest.mark.parametrize("template", [[], ["-f", "%D %v\\n"]])
def test_a_time_that_no_calendar_has_does_not_hide_the_records(
    headwater: Run, topic: str, template: list[str]
) -> None:
    headwater("topic", "produce", topic, "a", f"--timestamp=-{10**17}")
    headwater("topic", "produce", topic, "b")
    result = headwater("topic", "tail", topic, "-o", ":end", *template)
    assert result.code == 0
    assert f"-{10**17}" in result.out
    assert result.out.splitlines()[-1].endswith("b")


def test_json_lines(headwater: Run, orders: str) -> None:
    assert headwater("topic", "tail", orders, "-o", "2:3", "--json").documents == [
        {
            "topic": orders,
            "partition": 0,
            "offset": 2,
            "timestamp_ms": 1_700_000_000_002,
            "key": "2",
            "value": {"id": 2, "total": 20},
            "headers": [{"name": "kind", "value": "new"}],
        }
    ]


def test_a_template(headwater: Run, orders: str) -> None:
    result = headwater("topic", "tail", orders, "-o", "2:4", "-f", "%o %k %h\\n")
    assert result.out == "2 2 kind=new\n3 0 kind=new\n"
    assert headwater("topic", "tail", orders, "-f", "%q").code == 2


def test_where_filters_and_count_counts_what_matches(headwater: Run, orders: str) -> None:
    arguments = ["-o", "start", "--where", "value.total > 100 and key == '1'", "-f", "%o "]
    assert headwater("topic", "tail", orders, *arguments, "-n", 2).out == "13 16 "
    assert headwater("topic", "tail", orders, "--where", "import os").code == 2


def test_it_starts_ten_before_the_end_and_follows(
    headwater_process: Callable[..., subprocess.Popen[bytes]], client: Client, orders: str
) -> None:
    process = headwater_process("topic", "tail", orders, "-f", "%o\\n", "-n", "11")
    assert process.stdout is not None
    assert [int(process.stdout.readline()) for _ in range(10)] == list(range(10, 20))
    client.send(orders, "one more")
    assert int(process.stdout.readline()) == 20
    assert process.communicate(timeout=20) == (b"", b"")
    assert process.returncode == 0


def test_a_group_keeps_its_place_to_the_record(
    headwater: Run, client: Client, orders: str, group: str
) -> None:
    arguments = ["topic", "tail", orders, "--group", group, "-f", "%o ", "-n"]
    assert headwater(*arguments, 3).out == "0 1 2 "
    assert headwater(*arguments, 4).out == "3 4 5 6 "
    assert client.admin.groups.describe(group).partitions[0].committed == 7


def test_one_partition(headwater: Run, client: Client, new_topic: Callable[..., str]) -> None:
    topic = new_topic(partitions=3)
    for number in range(6):
        client.send(topic, number, partition=number % 3)
    assert headwater("topic", "tail", topic, "-o", ":end", "-p", 1, "-f", "%v ").out == "1 4 "


def test_several_topics(headwater: Run, client: Client, new_topic: Callable[..., str]) -> None:
    first, second = new_topic(), new_topic()
    client.send(first, 1)
    client.send(second, 2)
    printed = headwater("topic", "tail", first, second, "-o", ":end", "-f", "%v ").out
    assert sorted(printed.split()) == ["1", "2"]
