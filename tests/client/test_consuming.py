"""Reading: where it starts and ends, and that a position moves only over finished records."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

import headwater
from headwater.client import Client
from headwater.client.offset_range import Start
from headwater.errors import InvalidRequest, NotFound, OffsetOutOfRange, UnreadableValue


def fill(client: Client, topic: str, count: int, *, partitions: int = 1) -> None:
    with client.producer() as producer:
        for number in range(count):
            producer.send(topic, number, partition=number % partitions, timestamp=1000 + number)


def values(client: Client, topic: str, **reading: Any) -> list[Any]:
    with client.consumer(topic, **reading) as records:
        return [record.value for record in records]


def committed(client: Client, group: str) -> list[int | None]:
    found = client.admin.groups.describe(group, ages=False)
    return [place.committed for place in found.partitions]


def test_reading_until_the_end_ends(client: Client, new_topic: Callable[..., str]) -> None:
    topic = new_topic(partitions=3)
    fill(client, topic, 100, partitions=3)
    assert sorted(values(client, topic, until="end")) == list(range(100))


def test_an_empty_topic_ends_at_once(client: Client, topic: str) -> None:
    assert values(client, topic, until="end") == []


@pytest.mark.parametrize(
    ("reading", "expected"),
    [
        ({"start": "earliest", "until": "latest"}, range(10)),
        ({"start": 4, "until": 7}, range(4, 7)),
        ({"start": "4:7"}, range(4, 7)),
        ({"start": "-3:end"}, range(7, 10)),
        ({"start": "+2", "until": "-2"}, range(2, 8)),
        ({"start": "@1970-01-01T00:00:01.005Z:end"}, range(5, 10)),
        ({"start": "end", "until": "end"}, range(0)),
    ],
)
def test_positions(client: Client, topic: str, reading: dict[str, Any], expected: range) -> None:
    fill(client, topic, 10)
    assert values(client, topic, **reading) == list(expected)


def test_only_the_partitions_named_are_read(client: Client, new_topic: Callable[..., str]) -> None:
    topic = new_topic(partitions=3)
    fill(client, topic, 9, partitions=3)
    assert values(client, topic, until="end", partitions=[1]) == [1, 4, 7]
    with pytest.raises(NotFound, match="no partition 5"):
        client.consumer(topic, partitions=[5])


def test_several_topics_are_read_by_one_consumer(
    client: Client, new_topic: Callable[..., str]
) -> None:
    first, second = new_topic(), new_topic()
    client.send(first, "a")
    client.send(second, "b")
    with client.consumer(first, second, until="end") as records:
        assert {(record.topic, record.value) for record in records} == {(first, "a"), (second, "b")}


@pytest.mark.parametrize("group", [None, "some-group"])
def test_a_topic_that_does_not_exist_is_not_found(client: Client, group: str | None) -> None:
    with pytest.raises(NotFound), client.consumer("no-such-topic", group=group) as records:
        next(records)


def test_an_empty_name_of_a_group_is_refused(client: Client, topic: str) -> None:
    """A variable that is not set must not put strangers into one group."""
    with pytest.raises(InvalidRequest, match="group is empty"):
        client.consumer(topic, group="")


@pytest.mark.parametrize(
    ("reading", "sentence"),
    [
        ({"on_bad": "ignore"}, "on_bad is 'ignore'"),
        ({"partitions": []}, "partitions is empty"),
        ({"partitions": [0], "group": "g"}, "a group shares out the partitions"),
    ],
)
def test_a_wish_that_cannot_be_meant_is_refused_before_anything_is_read(
    client: Client, topic: str, reading: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidRequest, match=sentence) as refused:
        client.consumer(topic, **reading)
    assert refused.value.hint


def test_a_list_of_topics_is_told_how_topics_are_named(client: Client) -> None:
    names: Any = ["orders", "payments"]
    with pytest.raises(InvalidRequest, match="one by one"):
        client.consumer(names)


def test_a_batch_of_no_records_is_refused_not_waited_for(client: Client, topic: str) -> None:
    with client.consumer(topic, until="end") as records:
        with pytest.raises(InvalidRequest, match="max_records is 0"):
            next(records.batches(0))
        with pytest.raises(InvalidRequest, match="max_records is -1"):
            records.poll(-1)


def test_a_batch_may_be_larger_than_what_librdkafka_hands_over_at_once(
    client: Client, topic: str
) -> None:
    fill(client, topic, 3)
    with client.consumer(topic, until="end") as records:
        assert [record.value for record in records.poll(2_000_000, 30)] == [0, 1, 2]


@pytest.mark.parametrize("is_member", [True, False])
def test_a_closed_consumer_says_so(
    client: Client, topic: str, group: str, *, is_member: bool
) -> None:
    with client.consumer(topic, group=group if is_member else None) as records:
        pass
    with pytest.raises(InvalidRequest, match="the consumer is closed"):
        next(iter(records))
    with pytest.raises(InvalidRequest, match="the consumer is closed"):
        records.poll()
    with pytest.raises(InvalidRequest, match="the consumer is closed"):
        records.seek("start")
    with pytest.raises(InvalidRequest, match="the consumer is closed"):
        records.commit()


def test_a_record_is_committed_only_after_its_body(client: Client, topic: str, group: str) -> None:
    fill(client, topic, 5)
    with pytest.raises(ZeroDivisionError), client.consumer(topic, group=group) as records:  # noqa: PT012
        for record in records:
            if record.value == 2:
                raise ZeroDivisionError
    assert committed(client, group) == [2]
    with client.consumer(topic, group=group, until="end") as again:
        assert [record.value for record in again] == [2, 3, 4]


def test_breaking_out_of_the_loop_finishes_the_record_only_if_it_was_committed(
    client: Client, topic: str, group: str
) -> None:
    fill(client, topic, 5)
    with client.consumer(topic, group=group) as records:
        for record in records:
            if record.value == 2:
                break
    assert committed(client, group) == [2]
    with client.consumer(topic, group=group) as records:
        for record in records:
            if record.value == 3:
                records.commit()
                break
    assert committed(client, group) == [4]


def test_a_body_that_raised_gets_its_record_again_if_the_loop_is_tried_again(
    client: Client, topic: str, group: str
) -> None:
    fill(client, topic, 6)
    read: list[int] = []
    with client.consumer(topic, group=group, until="end") as records:
        while 5 not in read:
            try:
                for record in records:
                    read.append(record.value)
                    if read == [0, 1, 2]:
                        raise ValueError  # noqa: TRY301
            except ValueError:
                continue
    assert read == [0, 1, 2, 2, 3, 4, 5]
    assert committed(client, group) == [6]


def test_a_body_that_raised_leaves_its_record_unfinished_if_the_error_is_caught_outside_the_loop(
    client: Client, topic: str, group: str
) -> None:
    fill(client, topic, 6)
    with client.consumer(topic, group=group) as records, suppress(ValueError):
        for record in records:
            if record.value == 4:
                raise ValueError
    assert committed(client, group) == [4]


def test_a_batch_whose_body_raised_is_handed_out_again(
    client: Client, topic: str, group: str
) -> None:
    fill(client, topic, 6)
    read: list[list[int]] = []
    with client.consumer(topic, group=group, until="end") as records:
        with suppress(ValueError):
            for batch in records.batches(max_records=4, max_wait_s=5):
                read.append([record.value for record in batch])
                raise ValueError
        again = records.batches(max_records=4, max_wait_s=5)
        read.extend([record.value for record in batch] for batch in again)
    assert read == [[0, 1, 2, 3], [0, 1, 2, 3], [4, 5]]
    assert committed(client, group) == [6]


def test_what_was_polled_is_finished_when_the_block_ends(
    client: Client, topic: str, group: str
) -> None:
    fill(client, topic, 5)
    with client.consumer(topic, group=group) as records:
        while len(records.poll(max_records=3)) < 3:
            records.seek("start")
    assert committed(client, group) == [3]


def test_leaving_without_a_with_block_does_not_finish_the_record(
    bootstrap: str, client: Client, topic: str, group: str
) -> None:
    fill(client, topic, 5)
    with headwater.connect(bootstrap) as other:
        records = other.consumer(topic, group=group)
        assert [next(records).value, next(records).value] == [0, 1]
    assert committed(client, group) == [1]


def test_commit_in_the_middle_of_a_body(client: Client, topic: str, group: str) -> None:
    fill(client, topic, 5)
    with pytest.raises(ZeroDivisionError), client.consumer(topic, group=group) as records:  # noqa: PT012
        for _ in records:
            records.commit()
            raise ZeroDivisionError
    assert committed(client, group) == [1]


def test_poll_does_not_outwait_an_idle_topic(client: Client, topic: str) -> None:
    with client.consumer(topic) as records:
        assert records.poll(max_wait_s=0.01) == []
        client.send(topic, 1)
        found: list[object] = []
        while not found:
            found = [record.value for record in records.poll(max_wait_s=1)]
        assert found == [1]


def test_batches_are_finished_when_the_next_is_asked_for(
    client: Client, topic: str, group: str
) -> None:
    fill(client, topic, 10)
    with pytest.raises(ZeroDivisionError), client.consumer(topic, group=group) as records:  # noqa: PT012
        for batch in records.batches(max_records=4, max_wait_s=5):
            if batch[0].value == 4:
                raise ZeroDivisionError
    assert committed(client, group) == [4]
    with client.consumer(topic, group=group, until="end") as again:
        assert [len(batch) for batch in again.batches(max_records=4)] == [4, 2]
    assert committed(client, group) == [10]


def test_a_new_group_that_starts_at_the_end_keeps_that_place(
    client: Client, topic: str, group: str
) -> None:
    fill(client, topic, 3)
    # It reads nothing and leaves; what arrives while it is away must not be skipped.
    assert values(client, topic, group=group, start="latest", until="end") == []
    client.send(topic, "while it was away")
    assert values(client, topic, group=group, start="latest", until="end") == ["while it was away"]


def test_two_groups_each_read_everything(client: Client, topic: str, group: str) -> None:
    fill(client, topic, 5)
    for name in (f"{group}-a", f"{group}-b"):
        assert values(client, topic, group=name, until="end") == [0, 1, 2, 3, 4]


def test_seek_reads_again(client: Client, topic: str) -> None:
    fill(client, topic, 5)
    with client.consumer(topic, until="end") as records:
        assert [next(records).value for _ in range(3)] == [0, 1, 2]
        records.seek(1)
        assert [record.value for record in records] == [1, 2, 3, 4]
        records.seek(Start(), topic=topic, partition=0)
        assert [record.value for record in records] == [0, 1, 2, 3, 4]
        with pytest.raises(InvalidRequest, match="no such partition"):
            records.seek(0, partition=9)


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        ("start", range(5)),
        ("earliest", range(5)),
        ("end", range(0)),
        (-2, range(3, 5)),
        ("-2", range(3, 5)),
        ("+1", range(1, 5)),
        ("@1970-01-01T00:00:01.002Z", range(2, 5)),
    ],
)
def test_seek_takes_the_positions_that_start_takes(
    client: Client, topic: str, to: str | int, expected: range
) -> None:
    fill(client, topic, 5)
    with client.consumer(topic, until="end") as records:
        records.seek(to)
        assert [record.value for record in records] == list(expected)


def test_seek_refuses_what_is_no_position(client: Client, topic: str) -> None:
    with client.consumer(topic) as records:
        wrong: list[Any] = ["yesterday", "1:2", 1.5, None]
        for to in wrong:
            with pytest.raises(InvalidRequest):
                records.seek(to)


def test_a_position_beyond_the_end_is_not_blamed_on_retention(client: Client, topic: str) -> None:
    fill(client, topic, 5)
    with (
        pytest.raises(OffsetOutOfRange, match="offset 200 is not in the log, which ends at 5"),
        client.consumer(topic, start=200) as records,
    ):
        next(records)


def test_a_position_that_was_trimmed_away_is_an_error_not_a_jump(
    client: Client, topic: str, group: str
) -> None:
    fill(client, topic, 10)
    with client.consumer(topic, group=group) as records:
        next(records)
    client.admin.topics.trim(client.admin.topics.plan_trim(topic, before=5))
    with (
        pytest.raises(OffsetOutOfRange, match="not in the log") as raised,
        client.consumer(topic, group=group) as records,
    ):
        next(records)
    assert f"headwater group seek {group}" in raised.value.hint


class TestBadValues:
    """A value that is not JSON: never lost, never passed over without being told to."""

    @pytest.fixture
    def poisoned(self, client: Client, topic: str) -> str:
        with client.producer(value_format="bytes") as producer:
            for raw in (b"1", b"{broken", b"3"):
                producer.send(topic, raw)
        return topic

    def test_it_is_named_and_the_position_stays(
        self, client: Client, poisoned: str, group: str
    ) -> None:
        with (
            pytest.raises(UnreadableValue, match=f"{poisoned}/0 offset 1: the value is not json"),
            client.consumer(poisoned, group=group) as records,
        ):
            list(records)
        assert committed(client, group) == [1]

    def test_asking_again_raises_again(self, client: Client, poisoned: str) -> None:
        with client.consumer(poisoned) as records:
            assert next(records).value == 1
            for _ in range(2):
                with pytest.raises(UnreadableValue):
                    next(records)

    def test_a_batch_hands_out_the_good_ones_first(
        self, client: Client, poisoned: str, group: str
    ) -> None:
        with pytest.raises(UnreadableValue), client.consumer(poisoned, group=group) as records:  # noqa: PT012
            for batch in records.batches(max_wait_s=2):
                assert [record.value for record in batch] == [1]
        assert committed(client, group) == [1]

    def test_skip_moves_over_it(self, client: Client, poisoned: str, group: str) -> None:
        assert values(client, poisoned, group=group, until="end", on_bad="skip") == [1, 3]
        assert committed(client, group) == [3]

    def test_json_nested_too_deeply_is_a_bad_value(self, client: Client, topic: str) -> None:
        with client.producer(value_format="bytes") as producer:
            producer.send(topic, b"[" * 100_000)
        with pytest.raises(UnreadableValue, match="nested"):
            values(client, topic, until="end")

    def test_a_function_gets_the_record_and_the_error(self, client: Client, poisoned: str) -> None:
        seen = []
        found = values(
            client,
            poisoned,
            until="end",
            on_bad=lambda record, error: seen.append((record.raw_value, error.what)),
        )
        assert found == [1, 3]
        ((raw, what),) = seen
        assert raw == b"{broken"
        assert "offset 1" in what

    def test_a_function_that_fails_stops_the_reading(
        self, client: Client, poisoned: str, group: str
    ) -> None:
        def refuse(_: object, error: UnreadableValue) -> None:
            raise KeyError(error.what)

        with pytest.raises(KeyError):
            values(client, poisoned, group=group, on_bad=refuse)
        assert committed(client, group) == [1]
