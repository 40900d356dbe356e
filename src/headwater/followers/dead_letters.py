"""Records that cannot be applied: into `<topic>.dead`, as they are, with the reason and where they stood.

A dead letter is stored before the follower moves on. After a crash in between it may be there twice; its
origin tells. The headers are those of all dead letters (`docs/spark.md`), and the name of the view.
"""

from collections.abc import Sequence
from contextlib import suppress

from headwater.client.client import Client
from headwater.client.producer import Producer
from headwater.errors import Conflict
from headwater.followers.changes import Poll, Rejected
from headwater.views import View, dead_letter_topic


class DeadLetters:
    """One for all followers of a server."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._producer: Producer | None = None
        self._known: set[str] = set()

    def write(self, view: View, poll: Poll, rejected: Sequence[Rejected]) -> None:
        """Return once all of them are stored."""
        topic = dead_letter_topic(view.topic)
        self._make_sure_of(topic)
        if self._producer is None:
            self._producer = self._client.producer(value_format="bytes")
        deliveries = [
            self._producer.send(
                topic,
                poll.values[each.place],
                key=poll.keys[each.place],
                timestamp=max(0, poll.timestamps_ms[each.place]) or None,
                headers=_headers(view, poll, each),
            )
            for each in rejected
        ]
        for delivery in deliveries:
            delivery.result()

    def _make_sure_of(self, topic: str) -> None:
        if topic in self._known:
            return
        with suppress(Conflict):
            self._client.admin.topics.create(topic, partitions=1, configs={"retention.ms": "-1"})
        self._known.add(topic)


def _headers(view: View, poll: Poll, rejected: Rejected) -> dict[str, str]:
    at = rejected.place
    return {
        "headwater.reason": rejected.reason,
        "headwater.topic": view.topic,
        "headwater.partition": str(poll.partitions[at]),
        "headwater.offset": str(poll.offsets[at]),
        "headwater.view": view.name,
    }
