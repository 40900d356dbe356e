"""What groups need to know about topics; the broker's topics implement it."""

from typing import Protocol


class TopicLookup(Protocol):
    """Topics by name and by id (16 bytes, all zero for none)."""

    def topic_has_partition(self, topic: str, partition: int) -> bool: ...

    def topic_name_of(self, topic_id: bytes) -> str | None: ...

    def topic_id_of(self, topic: str) -> bytes: ...
