"""Which topics the members of a consumer group subscribe to: the one look into their metadata.

    subscription := version:int16 topic_count:int32 (length:int16 name:utf8)* ...

Every version of the consumer protocol begins like version 0, so the rest is not read.
"""

import struct
from collections.abc import Iterable

CONSUMER_PROTOCOL_TYPE = "consumer"

_COUNT = struct.Struct(">hi")
_LENGTH = struct.Struct(">h")


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """Return all topics that any member wants; None if one cannot be read."""
    try:
        return frozenset(topic for each in subscriptions for topic in _topics(each))
    except (struct.error, UnicodeDecodeError, ValueError):
        return None


def _topics(subscription: bytes) -> list[str]:
    _, count = _COUNT.unpack_from(subscription)
    position = _COUNT.size
    topics = []
    for _ in range(count):
        (length,) = _LENGTH.unpack_from(subscription, position)
        position += _LENGTH.size
        if length < 0 or position + length > len(subscription):
            raise ValueError("a topic name runs over the end")
        topics.append(subscription[position : position + length].decode())
        position += length
    return topics
