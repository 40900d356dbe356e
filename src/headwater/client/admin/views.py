"""Definitions of views: written to and read from the topic that holds them."""

from headwater.client.admin.topics import Topics
from headwater.client.connection import Connection
from headwater.client.producer import Producer
from headwater.errors import Conflict
from headwater.views import DEFINITIONS_TOPIC, View, encode_definition


class Views:
    def __init__(self, connection: Connection, topics: Topics) -> None:
        self._connection = connection
        self._topics = topics

    def define(self, view: View) -> None:
        """Define a view, or change its definition; every follower learns of it."""
        self.prepare()
        self._write(view.name, encode_definition(view))

    def drop(self, name: str) -> None:
        """Remove a definition; followers drop what they built. The changelog topic stays."""
        self.prepare()
        self._write(name, None)

    def prepare(self) -> None:
        """Make sure that the topic of the definitions is there."""
        if DEFINITIONS_TOPIC in self._topics.names():
            return
        try:
            self._topics.create(
                DEFINITIONS_TOPIC, partitions=1, configs={"cleanup.policy": "compact"}
            )
        except Conflict:
            return  # somebody else was quicker

    def _write(self, name: str, definition: bytes | None) -> None:
        # Twice the same definition is the same definition, and a plain producer starts sooner.
        plain = {"enable.idempotence": False}
        with Producer(
            self._connection, value_format_name="bytes", linger_ms=0, options=plain
        ) as producer:
            producer.send(DEFINITIONS_TOPIC, definition, key=name, partition=0)
