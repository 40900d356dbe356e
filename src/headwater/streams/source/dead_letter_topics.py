"""The topics of dead letters: made for the first one, made wider for one that does not fit."""

from typing import Final

from headwater.client.admin.topics import Topics
from headwater.errors import Conflict

_LIMIT: Final = "max.message.bytes"
_ROOM: Final = 64 << 10
"""For what a batch of records needs beside keys, values and headers."""
_DEFAULT_LIMIT: Final = 1_048_588
_LARGEST_LIMIT: Final = (1 << 31) - 1


class DeadLetterTopics:
    """Asks for each topic once, and again for a larger letter than before."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._limits: dict[str, int] = {}

    def make_room(self, topic: str, size: int) -> None:
        """A letter of so many bytes can be stored; what a topic took before, it takes still.

        The record was in a topic with another limit, or it was compressed.
        """
        if size + _ROOM > self._limits.get(topic, 0):
            self._limits[topic] = self._widened(topic, size + _ROOM)

    def _widened(self, topic: str, wanted: int) -> int:
        # In large steps: tasks that do this at the same time mostly wish for the same.
        limit = min(max(_DEFAULT_LIMIT, 1 << wanted.bit_length()), _LARGEST_LIMIT)
        try:
            self._topics.create(topic, configs={"retention.ms": "-1", _LIMIT: str(limit)})
        except Conflict:
            found = {each.name: each.value for each in self._topics.configs(topic)}
            present = int(found.get(_LIMIT) or _DEFAULT_LIMIT)
            if present >= wanted:
                return present
            self._topics.alter(topic, set={_LIMIT: str(limit)})
        return limit
