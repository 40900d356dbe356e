"""Requests that were overtaken on the network: known by the age of their connection.

Before transaction version 2 all transactions of a client have one epoch: a delayed request looks like one
of the present transaction. But on a connection requests stay in order, and a client opens a new one only
when it has given up on the old.
"""

from collections.abc import Container

from headwater.errors import Superseded
from headwater.wire.record_batch import ProducerIdAndEpoch


class LateRequests:
    """The newest connection that each client has used, by kind of request (`channel`)."""

    def __init__(self) -> None:
        self._newest: dict[tuple[str, str], tuple[ProducerIdAndEpoch, int]] = {}

    def refuse(
        self, channel: str, transactional_id: str, producer: ProducerIdAndEpoch, connection: int
    ) -> None:
        """Raise `Superseded` if the client has used a newer connection for such requests."""
        key = (transactional_id, channel)
        known, newest = self._newest.get(key, (producer, connection))
        if known == producer and connection < newest:
            raise Superseded(
                f"{transactional_id!r} has a newer connection, what comes on this one is late"
            )
        self._newest[key] = (producer, connection)

    def forget(self, transactional_ids: Container[str]) -> None:
        self._newest = {
            key: each for key, each in self._newest.items() if key[0] not in transactional_ids
        }
