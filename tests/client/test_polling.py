"""A batch that is not handed out, because something was raised while it was read, is not lost."""

from collections.abc import Callable

import pytest

from headwater.client import Client, Consumer
from headwater.errors import UnreadableValue


@pytest.fixture
def poisoned(client: Client, topic: str) -> str:
    """1, 2, and what is not JSON."""
    with client.producer(value_format="bytes") as producer:
        for value in (b"1", b"2", b"{broken"):
            producer.send(topic, value)
    return topic


class Interrupted(BaseException):
    """As KeyboardInterrupt."""


@pytest.mark.parametrize("failure", [KeyError, Interrupted])
def test_records_before_one_that_is_refused_are_handed_out_and_then_it_is_raised(
    client: Client, poisoned: str, group: str, failure: Callable[[str], BaseException]
) -> None:
    is_refused = True

    def refuse(_: object, error: UnreadableValue) -> None:
        if is_refused:
            raise failure(error.what)

    def poll_for_ever(records: Consumer) -> None:
        while True:
            found.extend(record.value for record in records.poll(3, 30))

    found: list[int] = []
    with client.consumer(poisoned, group=group, until="end", on_bad=refuse) as records:
        with pytest.raises((KeyError, Interrupted)):
            poll_for_ever(records)
        is_refused = False
        found += [record.value for record in records.poll(3, 30)]
    assert found == [1, 2]
