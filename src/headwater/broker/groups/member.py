"""One member of a group: what it told us when it joined, and the answers it is waiting for."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from headwater.broker.deadlines import Deadline
from headwater.broker.groups.voting import Protocols
from headwater.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from headwater.wire.messages.sync_group import SyncGroupResponse

AnswerJoin: TypeAlias = Callable[[JoinGroupResponse], None]
AnswerSync: TypeAlias = Callable[[SyncGroupResponse], None]


@dataclass(frozen=True, slots=True)
class Client:
    """Who sends a JoinGroup, and in which version of it."""

    id: str
    host: str
    version: int

    @property
    def must_rejoin_with_its_id(self) -> bool:
        """KIP-394: a new member gets its id first, so that a lost answer leaves no ghost behind."""
        return self.version >= 4

    @property
    def can_skip_assignment(self) -> bool:
        """KIP-814: a static leader that comes back can be told that the assignment still holds."""
        return self.version >= 9


@dataclass(slots=True, eq=False)
class Member:
    """A member, as of its last join."""

    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    protocols: Protocols
    rebalance_timeout_ms: int
    session_timeout_ms: int
    session: Deadline = field(init=False)
    """Set by `Group.bind_session`; when it falls due, the member is gone."""
    assignment: bytes = b""
    is_new: bool = False
    """Has never been in a generation, so it cannot heartbeat yet."""
    answer_join: AnswerJoin | None = None
    answer_sync: AnswerSync | None = None

    @property
    def is_static(self) -> bool:
        return self.instance_id is not None

    @property
    def is_awaiting_join(self) -> bool:
        return self.answer_join is not None

    @property
    def is_excused_from_heartbeat(self) -> bool:
        """A known member that waits for us owes no heartbeat; a new one can be given up on."""
        return not self.is_new and (self.answer_join is not None or self.answer_sync is not None)

    def metadata_for(self, protocol_name: str | None) -> bytes:
        return next((metadata for name, metadata in self.protocols if name == protocol_name), b"")


def protocols_of(request: JoinGroupRequest) -> Protocols:
    """The protocols a join offers; a name that comes twice counts once, as it came first."""
    protocols: dict[str, bytes] = {}
    for each in request.protocols:
        protocols.setdefault(each.name, each.metadata)
    return tuple(protocols.items())
