"""The settings of one log, in the units the log uses; their Kafka names live in the broker."""

from dataclasses import dataclass
from typing import Final

UNLIMITED: Final = -1
LONG_MAX: Final = 2**63 - 1
HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
WEEK_MS: Final = 7 * DAY_MS


@dataclass(frozen=True, slots=True)
class LogSettings:
    """Defaults are Apache Kafka's."""

    segment_bytes: int = 1 << 30
    segment_ms: int = WEEK_MS
    retention_ms: int = WEEK_MS
    retention_bytes: int = UNLIMITED
    is_compacted: bool = False
    is_deleted: bool = True
    delete_retention_ms: int = DAY_MS
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = LONG_MAX
    min_cleanable_dirty_ratio: float = 0.5
    max_message_bytes: int = 1_048_588
    uses_append_time: bool = False
    timestamp_before_max_ms: int = LONG_MAX
    timestamp_after_max_ms: int = HOUR_MS
    flush_ms: int = LONG_MAX
    flush_messages: int = LONG_MAX
