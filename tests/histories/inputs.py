"""What a group has still to process: the reading half of consume-transform-produce."""

from confluent_kafka import OFFSET_BEGINNING, OFFSET_STORED, Consumer, Message, TopicPartition

from histories.history import Partition
from histories.topics import LISTS, SHARED_GROUP

SESSION_TIMEOUT_MS = 6000


class Inputs:
    def __init__(self, bootstrap: str, group: str) -> None:
        self.group = group
        self.consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "session.timeout.ms": SESSION_TIMEOUT_MS,
                "heartbeat.interval.ms": 500,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 200,
                "log_level": 0,
            }
        )
        self._taken: list[Message] = []
        if group == SHARED_GROUP:
            self.consumer.subscribe([LISTS[0][0]], on_revoke=self._forget, on_lost=self._forget)
        else:
            self.consumer.assign([TopicPartition(*each, OFFSET_STORED) for each in LISTS])

    def take(self, limit: int) -> list[Message]:
        """Some records that come next; none if there are none yet."""
        self._taken = []
        message = self.consumer.poll(0.1)
        while message is not None:
            if message.error() is None:
                self._taken.append(message)
            if len(self._taken) >= limit:
                break
            message = self.consumer.poll(0)
        return self._taken

    def rewind(self) -> None:
        """Go back to where the group stands: what was taken since is to be taken again."""
        for each in self.consumer.committed(self.consumer.assignment(), timeout=30):
            if each.offset < 0:
                each.offset = OFFSET_BEGINNING
            self.consumer.seek(each)

    def _forget(self, _consumer: Consumer, _revoked: list[TopicPartition]) -> None:
        # They belong to another member now, who will process them.
        self._taken = []


def place(message: Message) -> Partition:
    return message.topic(), message.partition()
