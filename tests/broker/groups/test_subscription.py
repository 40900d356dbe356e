import struct

import pytest

from headwater.broker.groups.subscription import subscribed_topics


def subscription(*topics: str, version: int = 0, rest: bytes = b"\xff\xff\xff\xff") -> bytes:
    names = b"".join(struct.pack(">h", len(each.encode())) + each.encode() for each in topics)
    return struct.pack(">hi", version, len(topics)) + names + rest


def test_topics_of_all_members_are_taken_together():
    read = subscribed_topics([subscription("a", "b"), subscription("b", "ü")])

    assert read == {"a", "b", "ü"}


def test_later_versions_are_read_by_their_beginning():
    assert subscribed_topics([subscription("a", version=3, rest=b"anything")]) == {"a"}


def test_no_members_subscribe_to_nothing():
    assert subscribed_topics([]) == frozenset()


@pytest.mark.parametrize(
    "data",
    [b"", b"x", b"opaque", subscription("topic")[:9], struct.pack(">hih", 0, 1, -1), b"\xff" * 20],
)
def test_what_cannot_be_read_is_unknown(data: bytes):
    assert subscribed_topics([subscription("a"), data]) in (None, {"a"})
    assert subscribed_topics([data]) in (None, frozenset())


def test_name_that_runs_over_the_end_is_unknown():
    assert subscribed_topics([struct.pack(">hih", 0, 1, 50) + b"short"]) is None
