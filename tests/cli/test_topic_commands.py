"""`headwater topic`: create, list, describe, alter, delete, trim, produce."""

import os
from collections.abc import Callable

import pytest

from cli.conftest import Run
from headwater.client import Client


def test_create_list_describe_delete(headwater: Run, client: Client) -> None:
    name = "t-lifecycle"
    assert headwater("topic", "create", name, "--partitions", 3, "--replicas", 1).out == (
        f"created topic {name!r}\n"
    )
    listed = headwater("topic", "list", f"{name}.*")
    assert listed.out.splitlines()[0] == "name\tpartitions\treplicas\trecords"
    assert listed.rows == [[name, "3", "1", "0"]]
    assert [row[0] for row in headwater("topic", "describe", name).rows] == ["0", "1", "2"]
    deleted = headwater("topic", "delete", name, "--yes")
    assert (deleted.code, deleted.err) == (0, f"deleted {name}\n")
    assert name not in client.admin.topics.names()


def test_quiet_prints_no_messages(headwater: Run) -> None:
    assert headwater("topic", "create", "t-quiet", "--replicas", 1, "--quiet").out == ""
    deleted = headwater("--quiet", "topic", "delete", "t-quiet", "--yes")
    assert (deleted.code, deleted.err) == (0, "")


def test_a_global_flag_means_the_same_before_and_after_the_command(
    headwater: Run, topic: str
) -> None:
    forms = [
        headwater("--json", "topic", "list", topic),
        headwater("topic", "--json", "list", topic),
        headwater("topic", "list", topic, "--json"),
    ]
    assert {form.out for form in forms} == {forms[0].out}
    assert forms[0].documents[0]["name"] == topic


def test_a_pattern_that_matches_nothing_suggests(headwater: Run, topic: str) -> None:
    result = headwater("topic", "list", topic[:-1])
    assert (result.code, result.rows) == (0, [])
    assert f"did you mean {topic!r}?" in result.err
    assert headwater("topic", "list", "(").code == 2


def test_describe_shows_settings_that_were_changed(
    headwater: Run, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(**{"retention.ms": "1000"})
    (described,) = headwater("topic", "describe", topic, "--json").documents
    assert described["configs"] == [
        {"name": "retention.ms", "value": "1000", "source": "topic", "is_read_only": False}
    ]
    (everything,) = headwater("topic", "describe", topic, "--json", "--all").documents
    assert len(everything["configs"]) > 10


def test_an_alter_that_is_refused_changes_nothing(
    headwater: Run, client: Client, topic: str
) -> None:
    result = headwater("topic", "alter", topic, "--set", "retention.ms=5000", "--partitions", 1)
    assert result.code == 2
    assert f"topic {topic!r} has 1 partition already, so 1 would not be more" in result.err
    values = {config.name: config.value for config in client.admin.topics.configs(topic)}
    assert values["retention.ms"] == "-1"


def test_a_topic_named_twice_is_deleted_once(headwater: Run, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    result = headwater("topic", "delete", topic, topic, "--yes")
    assert (result.code, result.rows, result.err) == (0, [[topic, "1", "0"]], f"deleted {topic}\n")


def test_a_pattern_that_only_internal_topics_match_says_how_to_see_them(
    headwater: Run, client: Client
) -> None:
    client.admin.topics.create("__t-hidden", replicas=1)
    try:
        assert headwater("topic", "list", "__t-hid.*").err == "--internal shows __t-hidden\n"
        assert headwater("topic", "list", "__t-hid.*", "--internal").rows[0][0] == "__t-hidden"
    finally:
        client.admin.topics.delete("__t-hidden")


def test_alter_shows_before_and_after(headwater: Run, topic: str) -> None:
    result = headwater("topic", "alter", topic, "--set", "retention.ms=5000", "--partitions", 2)
    assert result.rows[0][:2] == [topic, "retention.ms"]
    assert result.rows[0][3] == "5000"
    assert result.rows[1] == [topic, "partitions", "1", "2"]
    assert headwater("topic", "alter", topic, "--unset", "retention.ms").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to change"),
        (["--set", "retention.ms"], "not NAME=VALUE"),
        (["--set", "retention.mss=1"], "did you mean retention.ms?"),
    ],
)
def test_alter_refuses(headwater: Run, topic: str, arguments: list[str], message: str) -> None:
    result = headwater("topic", "alter", topic, *arguments)
    assert result.code == 2
    assert message in result.err


def test_without_a_terminal_and_without_yes_nothing_is_destroyed(
    headwater: Run, client: Client, topic: str
) -> None:
    client.send(topic, 1)
    for arguments in (["delete", topic], ["trim", topic, "--before", "end"]):
        result = headwater("topic", *arguments)
        assert result.code == 2
        assert result.rows, "the plan is shown"
        assert "--yes" in result.err
    assert client.admin.topics.describe(topic).partitions[0].start_offset == 0


def test_trim_shows_its_plan_and_removes(headwater: Run, client: Client, topic: str) -> None:
    for number in range(5):
        client.send(topic, number)
    dry = headwater("topic", "trim", topic, "--before", 3, "--dry-run")
    assert dry.rows == [[topic, "0", "0", "3", "5", "3"]]
    assert "dry run: nothing was removed" in dry.err
    assert client.admin.topics.describe(topic).partitions[0].start_offset == 0
    done = headwater("topic", "trim", topic, "--before", 3, "--yes", "--json")
    assert done.documents == [
        {"topic": topic, "partition": 0, "before": 0, "after": 3, "end": 5, "records": 3}
    ]
    assert client.admin.topics.describe(topic).partitions[0].start_offset == 3
    assert "nothing to remove" in headwater("topic", "trim", topic, "--before", 3, "--yes").err


def test_trim_refuses_what_would_be_a_mistake(
    headwater: Run, client: Client, new_topic: Callable[..., str]
) -> None:
    topic, compacted = new_topic(), new_topic(**{"cleanup.policy": "compact"})
    for each in (topic, compacted):
        client.send(each, 1, key="k")
    beyond = headwater("topic", "trim", topic, "--before", 99999, "--yes")
    assert (beyond.code, beyond.out) == (5, "")
    assert "which ends at 1" in beyond.err
    forbidden = headwater("topic", "trim", compacted, "--before", "end", "--yes")
    assert (forbidden.code, forbidden.out) == (5, "")
    assert "cleanup.policy=compact" in forbidden.err
    assert "hint: " in forbidden.err


class TestProduce:
    def read(self, client: Client, topic: str) -> list[tuple[str | None, bytes | None]]:
        with client.consumer(topic, until="end", value_format="bytes") as records:
            return [(record.key, record.value) for record in records]

    def test_values_from_arguments(self, headwater: Run, client: Client, topic: str) -> None:
        arguments = ["a", "b", "-k", "7", "-H", "x=1", "-H", "y=", "--timestamp", 1234]
        result = headwater("topic", "produce", topic, *arguments)
        assert result.out.splitlines()[0] == "topic\tpartition\toffset\ttimestamp_ms"
        assert result.rows == [[topic, "0", "0", "1234"], [topic, "0", "1", "1234"]]
        with client.consumer(topic, until="end", value_format="str") as records:
            first = next(records)
        assert (first.key, first.value) == ("7", "a")
        assert first.headers == (("x", b"1"), ("y", b""))

    def test_arguments_that_are_not_text_are_written_as_they_are(
        self, headwater: Run, client: Client, topic: str
    ) -> None:
        odd, header, ended = map(os.fsdecode, (b"\xff\xfe", b"h=\xfd", b"line\n"))
        assert headwater("topic", "produce", topic, odd, ended, "-k", odd, "-H", header).code == 0
        assert headwater("topic", "produce", topic, "-K", odd, f"7{odd}a").code == 0
        with client.consumer(topic, until="end", value_format="bytes") as records:
            found = [(record.key_bytes, record.value, record.headers) for record in records]
        assert found == [
            (b"\xff\xfe", b"\xff\xfe", (("h", b"\xfd"),)),
            (b"\xff\xfe", b"line\n", (("h", b"\xfd"),)),
            (b"7", b"a", ()),
        ]

    def test_a_name_that_is_not_text_is_one_sentence(self, headwater: Run, topic: str) -> None:
        odd = os.fsdecode(b"\xff=1")
        result = headwater("topic", "produce", topic, "a", "-H", odd)
        assert result.code == 2
        assert "is not text in UTF-8" in result.err

    def test_an_empty_key_separator_is_not_ignored(self, headwater: Run, topic: str) -> None:
        assert headwater("topic", "produce", topic, "-K", "", stdin=b"7:a\n").code == 2

    def test_lines_of_stdin_are_written_as_they_are(
        self, headwater: Run, client: Client, topic: str
    ) -> None:
        headwater("topic", "produce", topic, stdin=b'{"a": 1}\n\xff\n\nlast')
        assert self.read(client, topic) == [
            (None, b'{"a": 1}'),
            (None, b"\xff"),
            (None, b""),
            (None, b"last"),
        ]

    def test_many_lines_keep_their_order(self, headwater: Run, client: Client, topic: str) -> None:
        lines = [str(number).encode() for number in range(20_000)]
        result = headwater("topic", "produce", topic, "--json", stdin=b"\n".join(lines))
        assert [document["offset"] for document in result.documents] == list(range(20_000))
        assert [value for _, value in self.read(client, topic)] == lines

    def test_a_key_separator(self, headwater: Run, client: Client, topic: str) -> None:
        headwater("topic", "produce", topic, "-K", ":", stdin=b"7:a:b\n8:c\n")
        assert self.read(client, topic) == [("7", b"a:b"), ("8", b"c")]

    def test_what_stands_before_a_line_without_a_key_is_written_and_told(
        self, headwater: Run, client: Client, topic: str
    ) -> None:
        lines = b"7:a\n8:b\nnone\n9:c\n"
        result = headwater("topic", "produce", topic, "-K", ":", stdin=lines)
        assert result.code == 1
        assert [row[2] for row in result.rows] == ["0", "1"]
        assert "no ':' between key and value in line 3: b'none'" in result.err
        assert "the records before it were written" in result.err
        assert client.admin.topics.sizes([topic]) == {topic: 2}

    def test_nothing_is_written_if_a_value_has_no_key(
        self, headwater: Run, client: Client, topic: str
    ) -> None:
        result = headwater("topic", "produce", topic, "-K", ":", "7:a", "none")
        assert (result.code, result.out) == (1, "")
        assert client.admin.topics.sizes([topic]) == {topic: 0}

    def test_what_was_stored_is_told_before_what_was_not(
        self, headwater: Run, new_topic: Callable[..., str]
    ) -> None:
        topic = new_topic(**{"max.message.bytes": "2000"})
        lines = b"a\n" + b"x" * 5000 + b"\nb\n"
        result = headwater("topic", "produce", topic, stdin=lines)
        assert result.code == 1
        assert "max.message.bytes" in result.err
        assert [row[2] for row in result.rows] == [str(n) for n in range(len(result.rows))]

    @pytest.mark.parametrize("verb", [["produce"], ["tail", "-o", ":end"]])
    def test_a_partition_that_is_not_there_is_3_with_those_that_are(
        self, headwater: Run, topic: str, verb: list[str]
    ) -> None:
        values = ["x"] if verb == ["produce"] else []
        result = headwater("topic", *verb, topic, *values, "-p", 9)
        assert (result.code, result.out) == (3, "")
        assert f"topic {topic!r} has no partition 9" in result.err
        assert "it has partitions 0 to 0" in result.err

    def test_a_time_that_the_topic_does_not_take_names_the_limits(
        self, headwater: Run, topic: str
    ) -> None:
        result = headwater("topic", "produce", topic, "x", "--timestamp", 9_999_999_999_999)
        assert result.code == 1
        assert "its time is further from the broker's clock than the topic allows" in result.err
        assert "message.timestamp.after.max.ms" in result.err

    def test_a_tombstone(self, headwater: Run, client: Client, topic: str) -> None:
        headwater("topic", "produce", topic, "-k", "gone", "--tombstone")
        assert self.read(client, topic) == [("gone", None)]
        assert headwater("topic", "produce", topic, "--tombstone").code == 2

    def test_a_mistyped_topic_is_not_created(
        self, headwater: Run, client: Client, topic: str
    ) -> None:
        result = headwater("topic", "produce", f"{topic}s", "x")
        assert result.code == 3
        assert f"did you mean {topic!r}?" in result.err
        assert f"{topic}s" not in client.admin.topics.names()

    def test_a_topic_is_created_when_asked(self, headwater: Run, client: Client) -> None:
        assert headwater("topic", "produce", "t-created", "x", "--create").code == 0
        client.admin.topics.delete("t-created")

    def test_a_record_that_is_too_large_fails(
        self, headwater: Run, new_topic: Callable[..., str]
    ) -> None:
        topic = new_topic(**{"max.message.bytes": "200"})
        result = headwater("topic", "produce", topic, "x" * 1000)
        assert result.code == 1
        assert "max.message.bytes" in result.err
