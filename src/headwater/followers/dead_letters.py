"""Records that cannot be applied: into `<topic>.dead`, as they are, with the reason and where they stood.

A dead letter is stored before the follower moves on. After a crash in between it may be there twice; its
origin tells. The headers are those of all dead letters (`docs/spark.md`), and the name of the view.
"""

from collections.abc import Sequence
from typing import Final

from headwater.client.client import Client
from headwater.client.producer import Producer
from headwater.errors import Conflict, HeadwaterError
from headwater.followers.changes import Poll, Rejected
from headwater.views import View, dead_letter_topic

_ANY_SIZE: Final = {"message.max.bytes": 1_000_000_000}
_ROOM_FOR_HEADERS: Final = 64 << 10
_DEFAULT_LARGEST: Final = 1_048_588
_LARGEST_OF_ALL: Final = (1 << 31) - 1


class DeadLetters:
    """One for all followers of a server."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._producer: Producer | None = None
        self._known: set[str] = set()

    def write(self, view: View, poll: Poll, rejected: Sequence[Rejected]) -> None:
        """Return once all of them are stored."""
        topic = dead_letter_topic(view.topic)
        self._make_sure_of(topic, view.topic)
        if self._producer is None:
            self._producer = self._client.producer(value_format="bytes", options=_ANY_SIZE)
        try:
            deliveries = [
                self._producer.send(
                    topic,
                    poll.values[each.place],
                    key=poll.keys[each.place],
                    headers=_headers(view, poll, each),
                )
                for each in rejected
            ]
            for delivery in deliveries:
                delivery.result()
        except HeadwaterError:
            self._known.discard(topic)  # it may have gone, or be too narrow by now
            raise

    def _make_sure_of(self, topic: str, origin: str) -> None:
        """It must take whatever its origin has taken, and the headers beside it."""
        if topic in self._known:
            return
        topics = self._client.admin.topics
        largest = str(min(self._largest_record(origin) + _ROOM_FOR_HEADERS, _LARGEST_OF_ALL))
        try:
            configs = {"retention.ms": "-1", "max.message.bytes": largest}
            topics.create(topic, partitions=1, configs=configs)
        except Conflict:
            if self._largest_record(topic) < int(largest):
                topics.alter(topic, set={"max.message.bytes": largest})
        self._known.add(topic)

    def _largest_record(self, topic: str) -> int:
        configs = {each.name: each.value for each in self._client.admin.topics.configs(topic)}
        return int(configs.get("max.message.bytes") or _DEFAULT_LARGEST)


def _headers(view: View, poll: Poll, rejected: Rejected) -> dict[str, str]:
    at = rejected.place
    return {
        "headwater.reason": rejected.reason,
        "headwater.topic": view.topic,
        "headwater.partition": str(poll.partitions[at]),
        "headwater.offset": str(poll.offsets[at]),
        # Not as the letter's own: its origin may allow times that other topics do not.
        "headwater.timestamp": str(poll.timestamps_ms[at]),
        "headwater.view": view.name,
    }
