"""What an operator can set about groups; names and defaults are Kafka's unless said otherwise."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """`group.*` and `offsets.*` of the broker's configuration."""

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 0
    """Kafka's default is 3000; an embedded broker has few members and a person waiting."""
    max_size: int = 2**31 - 1
    new_member_join_timeout_ms: int = 300_000
    """How long a new member's JoinGroup may wait: it has no id yet, so it cannot heartbeat."""
    offset_metadata_max_bytes: int = 4_096
    offsets_retention_ms: int = 10_080 * 60_000
