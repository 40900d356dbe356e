"""A member of a consumer group, request by request: nothing happens that the test did not ask."""

import struct
from dataclasses import dataclass, field
from typing import Any

from conformance.raw import Connection, ErrorCode


def subscription(*topics: str, user_data: bytes | None = None) -> bytes:
    """ConsumerProtocolSubscription v0: the bytes with which a consumer says what it reads.

    Kafka reads them when the protocol type is "consumer", and never answers if they are not these.
    """
    names = b"".join(struct.pack(">h", len(name)) + name.encode() for name in topics)
    size = -1 if user_data is None else len(user_data)
    return struct.pack(">hi", 0, len(topics)) + names + struct.pack(">i", size) + (user_data or b"")


@dataclass
class Member:
    """One member on its own connection.

    A join or a sync waits in the broker for other members, so it can be sent now, received later.
    """

    connection: Connection
    group: str
    protocols: dict[str, bytes] = field(default_factory=lambda: {"range": subscription()})
    instance_id: str | None = None
    session_timeout_ms: int = 20_000
    rebalance_timeout_ms: int = 20_000
    member_id: str = ""
    generation: int = -1
    protocol_type: str = "consumer"

    def join(self) -> Any:
        """Join, with the second request that a member without an id needs (KIP-394)."""
        self.send_join()
        return self.receive_join()

    def send_join(self) -> None:
        """Have a member id, then send the join that waits for the others."""
        if not self.member_id and self.instance_id is None:
            refused = self.request_join()
            assert refused.error_code == ErrorCode.member_id_required, refused
            self.member_id = refused.member_id
        self.connection.send("join_group", 9, **self.join_fields())

    def receive_join(self) -> Any:
        response = self.connection.receive()
        if response.error_code == ErrorCode.none:
            self.member_id = response.member_id
            self.generation = response.generation_id
        return response

    def request_join(self, version: int = 9) -> Any:
        return self.connection.request("join_group", version, **self.join_fields(version))

    def join_fields(self, version: int = 9) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "group_id": self.group,
            "session_timeout": self.session_timeout_ms,
            "member_id": self.member_id,
            "protocol_type": self.protocol_type,
            "protocols": [
                {"name": name, "metadata": metadata} for name, metadata in self.protocols.items()
            ],
        }
        if version >= 1:
            fields["rebalance_timeout"] = self.rebalance_timeout_ms
        if version >= 5:
            fields["group_instance_id"] = self.instance_id
        return fields

    def sync(self, assignments: dict[str, bytes] | None = None, **fields: Any) -> Any:
        self.send_sync(assignments, **fields)
        return self.connection.receive()

    def send_sync(self, assignments: dict[str, bytes] | None = None, **fields: Any) -> None:
        self.connection.send(
            "sync_group",
            5,
            **{
                "group_id": self.group,
                "generation_id": self.generation,
                "member_id": self.member_id,
                "group_instance_id": self.instance_id,
                "protocol_type": self.protocol_type,
                "protocol_name": next(iter(self.protocols)),
                "assignments": [
                    {"member_id": member_id, "assignment": assignment}
                    for member_id, assignment in (assignments or {}).items()
                ],
                **fields,
            },
        )

    def heartbeat(self, **fields: Any) -> ErrorCode:
        response = self.connection.request(
            "heartbeat",
            4,
            **{
                "group_id": self.group,
                "generation_id": self.generation,
                "member_id": self.member_id,
                "group_instance_id": self.instance_id,
                **fields,
            },
        )
        return response.error_code

    def leave(self) -> Any:
        return self.connection.request(
            "leave_group",
            5,
            group_id=self.group,
            members=[{"member_id": self.member_id, "group_instance_id": self.instance_id}],
        )

    def enter_alone(self, assignment: bytes = b"assignment") -> None:
        """Become the only member of a stable group."""
        assert self.join().error_code == ErrorCode.none
        assert self.sync({self.member_id: assignment}).error_code == ErrorCode.none


def describe(connection: Connection, group: str, version: int = 5) -> Any:
    response = connection.request("describe_groups", version, groups=[group])
    return response.groups[0]


def state_of(connection: Connection, group: str) -> str:
    return describe(connection, group).group_state
