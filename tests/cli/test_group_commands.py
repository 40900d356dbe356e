"""`headwater group`: list, describe, seek, delete."""

import pytest

from cli.conftest import Run
from headwater.client import Client


@pytest.fixture
def billing(client: Client, topic: str, group: str) -> str:
    """A group that has read 4 of 10 records."""
    for number in range(10):
        client.send(topic, number)
    with client.consumer(topic, group=group) as records:
        for _ in range(4):
            next(records)
    return group


def test_list_and_describe_show_the_lag(headwater: Run, topic: str, billing: str) -> None:
    (listed,) = [row for row in headwater("group", "list").rows if row[0] == billing]
    assert listed[1:4] == ["empty", "0", "6"]
    described = headwater("group", "describe", billing)
    assert described.out.splitlines()[0].split("\t") == [
        *("topic", "partition", "committed", "end", "lag", "lag_seconds", "member"),
    ]
    assert described.rows[0][:5] == [topic, "0", "4", "10", "6"]
    assert 0 <= float(described.rows[0][5]) < 60


def test_list_by_state(headwater: Run, billing: str) -> None:
    assert billing in headwater("group", "list", "--state", "empty").out
    assert billing in headwater("group", "list", "--state", "Empty").out
    assert billing not in headwater("group", "list", "--state", "stable").out


def test_a_state_that_does_not_exist_is_not_an_empty_list(headwater: Run) -> None:
    result = headwater("group", "list", "--state", "foo")
    assert (result.code, result.out) == (2, "")
    assert "stable" in result.err


def test_seek_shows_before_and_after(
    headwater: Run, client: Client, topic: str, billing: str
) -> None:
    dry = headwater("group", "seek", billing, "--to", "-1", "--dry-run")
    assert dry.out.splitlines()[0] == "topic\tpartition\tbefore\tafter\tend"
    assert dry.rows == [[topic, "0", "4", "9", "10"]]
    assert "dry run: nothing was moved" in dry.err
    assert client.admin.groups.describe(billing).partitions[0].committed == 4
    refused = headwater("group", "seek", billing, "--to", "start")
    assert refused.code == 2
    assert "--yes" in refused.err
    done = headwater("group", "seek", billing, "--to", "start", "--topic", topic, "--yes", "--json")
    assert done.documents == [{"topic": topic, "partition": 0, "before": 4, "after": 0, "end": 10}]
    assert client.admin.groups.describe(billing).partitions[0].committed == 0


@pytest.mark.parametrize("asked", ["1000", "11"])
def test_seek_beyond_the_end_says_where_it_goes_instead(
    headwater: Run, client: Client, topic: str, billing: str, asked: str
) -> None:
    done = headwater("group", "seek", billing, "--to", asked, "--yes")
    assert done.rows == [[topic, "0", "4", "10", "10"]]
    assert f"{topic}/0 ends at 10: the group goes there, for there is no offset {asked}" in done.err
    assert client.admin.groups.describe(billing).partitions[0].committed == 10
    assert "no offset" not in headwater("group", "seek", billing, "--to", "10", "--yes").err


def test_seek_before_the_start_says_where_it_goes_instead(
    headwater: Run, topic: str, billing: str
) -> None:
    assert headwater("topic", "trim", topic, "--before", "6", "--yes").code == 0
    done = headwater("group", "seek", billing, "--to", "5", "--yes")
    assert done.rows == [[topic, "0", "4", "6", "10"]]
    assert f"{topic}/0 starts at 6: the group goes there, for there is no offset 5" in done.err


def test_seek_to_where_another_group_stands(headwater: Run, client: Client, billing: str) -> None:
    copy = f"{billing}-copy"
    assert headwater("group", "seek", copy, "--to-group", billing, "--yes").code == 0
    assert client.admin.groups.describe(copy).partitions[0].committed == 4


def test_a_group_with_live_members_is_refused_with_5(
    headwater: Run, client: Client, topic: str, billing: str
) -> None:
    with client.consumer(topic, group=billing) as records:
        next(records)
        result = headwater("group", "seek", billing, "--to", "start", "--yes")
        assert result.code == 5
        assert "has 1 live member" in result.err
        assert "stop its consumers first" in result.err
        assert headwater("group", "delete", billing, "--yes").code == 5


def test_no_group_is_deleted_if_one_of_them_cannot_be(
    headwater: Run, client: Client, topic: str, billing: str
) -> None:
    idle = f"{billing}-idle"
    assert headwater("group", "seek", idle, "--to", "start", "--topic", topic, "--yes").code == 0
    with client.consumer(topic, group=billing) as records:
        next(records)
        result = headwater("group", "delete", idle, billing, "--yes")
        assert result.code == 5
        assert f"group {billing!r} has 1 live member, so it cannot be deleted" in result.err
    assert idle in [found.group for found in client.admin.groups.list()]
    assert headwater("group", "delete", idle, idle, "--yes").rows == [[idle, "empty", "0", "10"]]


@pytest.mark.parametrize(
    "arguments", [[], ["--to", "start", "--to-group", "x"], ["--to", "10:20"], ["--to", "never"]]
)
def test_seek_usage(headwater: Run, billing: str, arguments: list[str]) -> None:
    assert headwater("group", "seek", billing, *arguments, "--yes").code == 2


def test_a_mistyped_group_is_suggested(headwater: Run, billing: str) -> None:
    result = headwater("group", "seek", f"{billing}x", "--to", "start", "--yes")
    assert result.code == 3
    assert f"did you mean {billing!r}?" in result.err


def test_delete(headwater: Run, billing: str) -> None:
    assert headwater("group", "delete", billing).code == 2
    assert headwater("group", "delete", billing, "--yes").code == 0
    assert headwater("group", "describe", billing).code == 3
