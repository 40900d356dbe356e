"""The configs of a topic: names, types and defaults of Apache Kafka, and what they mean to the log."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from headwater.errors import InvalidRequest
from headwater.log.settings import DAY_MS, HOUR_MS, LONG_MAX, UNLIMITED, WEEK_MS, LogSettings

BOOLEAN: Final = 1
STRING: Final = 2
INT: Final = 3
LONG: Final = 5
DOUBLE: Final = 6
LIST: Final = 7

INT_MAX: Final = 2**31 - 1

_REPLICA: Final = re.compile(r"([0-9]+:[0-9]+)?")
_NUMBERS: Final = {INT: "INT", LONG: "LONG", DOUBLE: "DOUBLE"}


@dataclass(frozen=True, slots=True)
class Check:
    """Which values are allowed, and what is said of others."""

    allows: Callable[[str], bool]
    otherwise: str


def at_least(lowest: float, highest: float = LONG_MAX) -> Check:
    limits = f"at least {lowest}" if highest == LONG_MAX else f"between {lowest} and {highest}"
    return Check(lambda value: lowest <= _number(value) <= highest, f"Value must be {limits}")


def one_of(*allowed: str) -> Check:
    return Check(lambda value: value in allowed, f"Value must be one of: {', '.join(allowed)}")


def some_of(*allowed: str) -> Check:
    return Check(
        lambda value: value == "" or all(each in allowed for each in _items(value)),
        f"Values must be of: {', '.join(allowed)}",
    )


ANYTHING: Final = Check(lambda _: True, "")


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """One config: what it may be and what it is when nobody says."""

    kind: int
    default: str
    check: Check = ANYTHING
    broker_name: str = ""
    """The broker-wide config that gives the default on Apache Kafka."""
    meaning: str = ""


_BOOL = Check(lambda value: value.lower() in ("true", "false"), "Value must be one of: true, false")
_NEVER = Check(lambda value: value.lower() == "false", "There is no remote storage")
_REPLICAS = Check(
    lambda value: value == "*" or all(_REPLICA.fullmatch(each) for each in _items(value)),
    "Value must be * or a list of partition:broker",
)
CODECS: Final = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")

TOPIC_CONFIGS: Final[dict[str, TopicConfig]] = {
    "cleanup.policy": TopicConfig(
        LIST,
        "delete",
        some_of("delete", "compact"),
        "log.cleanup.policy",
        meaning="What happens to old records: delete them by age and size, compact them by key, both, or "
        "nothing if it is empty.",
    ),
    "compression.gzip.level": TopicConfig(
        INT,
        "-1",
        Check(
            lambda value: value == "-1" or 1 <= _number(value) <= 9, "Value must be -1 or 1 to 9"
        ),
        "compression.gzip.level",
        meaning="Accepted for Kafka's sake; batches keep the codec they were sent with.",
    ),
    "compression.lz4.level": TopicConfig(
        INT,
        "9",
        at_least(1, 17),
        "compression.lz4.level",
        meaning="Accepted for Kafka's sake; batches keep the codec they were sent with.",
    ),
    "compression.type": TopicConfig(
        STRING,
        "producer",
        one_of(*CODECS),
        "compression.type",
        meaning="Batches keep the codec they were sent with.",
    ),
    "compression.zstd.level": TopicConfig(
        INT,
        "3",
        at_least(-131072, 22),
        "compression.zstd.level",
        meaning="Accepted for Kafka's sake; batches keep the codec they were sent with.",
    ),
    "delete.retention.ms": TopicConfig(
        LONG,
        str(DAY_MS),
        at_least(0),
        "log.cleaner.delete.retention.ms",
        meaning="How long a tombstone of a compacted topic stays after compaction first saw it.",
    ),
    "file.delete.delay.ms": TopicConfig(
        LONG,
        "60000",
        at_least(0),
        "log.segment.delete.delay.ms",
        meaning="Accepted for Kafka's sake; files of deleted segments are removed at once.",
    ),
    "flush.messages": TopicConfig(
        LONG,
        str(LONG_MAX),
        at_least(1),
        "log.flush.interval.messages",
        meaning="With 1, batches of acks=0 and acks=1 are synced at once.",
    ),
    "flush.ms": TopicConfig(
        LONG,
        str(LONG_MAX),
        at_least(0),
        "log.flush.interval.ms",
        meaning="acks=0 and acks=1 are synced within this time; acks=all is synced before it is answered.",
    ),
    "follower.replication.throttled.replicas": TopicConfig(
        LIST, "", _REPLICAS, meaning="Accepted for Kafka's sake; one broker does not replicate."
    ),
    "index.interval.bytes": TopicConfig(
        INT,
        "4096",
        at_least(0, INT_MAX),
        "log.index.interval.bytes",
        meaning="Accepted for Kafka's sake; one index entry per 4096 bytes.",
    ),
    "leader.replication.throttled.replicas": TopicConfig(
        LIST, "", _REPLICAS, meaning="Accepted for Kafka's sake; one broker does not replicate."
    ),
    "local.retention.bytes": TopicConfig(
        LONG,
        "-2",
        at_least(-2),
        "log.local.retention.bytes",
        meaning="Accepted for Kafka's sake; there is no remote storage.",
    ),
    "local.retention.ms": TopicConfig(
        LONG,
        "-2",
        at_least(-2),
        "log.local.retention.ms",
        meaning="Accepted for Kafka's sake; there is no remote storage.",
    ),
    "max.compaction.lag.ms": TopicConfig(
        LONG,
        str(LONG_MAX),
        at_least(1),
        "log.cleaner.max.compaction.lag.ms",
        meaning="A record is compacted no later than this after it was written.",
    ),
    "max.message.bytes": TopicConfig(
        INT,
        "1048588",
        at_least(0, INT_MAX),
        "message.max.bytes",
        meaning="Largest batch that is accepted, in bytes.",
    ),
    "message.timestamp.after.max.ms": TopicConfig(
        LONG,
        str(HOUR_MS),
        at_least(0),
        "log.message.timestamp.after.max.ms",
        meaning="How far a record's time may lie ahead of the broker's clock.",
    ),
    "message.timestamp.before.max.ms": TopicConfig(
        LONG,
        str(LONG_MAX),
        at_least(0),
        "log.message.timestamp.before.max.ms",
        meaning="How far a record's time may lie behind the broker's clock.",
    ),
    "message.timestamp.type": TopicConfig(
        STRING,
        "CreateTime",
        one_of("CreateTime", "LogAppendTime"),
        "log.message.timestamp.type",
        meaning="Whether a record keeps its producer's time or gets the broker's.",
    ),
    "min.cleanable.dirty.ratio": TopicConfig(
        DOUBLE,
        "0.5",
        at_least(0, 1),
        "log.cleaner.min.cleanable.ratio",
        meaning="The share of not yet compacted bytes at which compaction starts.",
    ),
    "min.compaction.lag.ms": TopicConfig(
        LONG,
        "0",
        at_least(0),
        "log.cleaner.min.compaction.lag.ms",
        meaning="A record stays untouched by compaction for at least this time.",
    ),
    "min.insync.replicas": TopicConfig(
        INT,
        "1",
        at_least(1, INT_MAX),
        "min.insync.replicas",
        meaning="Accepted for Kafka's sake; the only replica is always in sync.",
    ),
    "preallocate": TopicConfig(
        BOOLEAN,
        "false",
        _BOOL,
        "log.preallocate",
        meaning="Accepted for Kafka's sake; segments grow as they are written.",
    ),
    "remote.log.copy.disable": TopicConfig(
        BOOLEAN, "false", _BOOL, meaning="Accepted for Kafka's sake; there is no remote storage."
    ),
    "remote.log.delete.on.disable": TopicConfig(
        BOOLEAN, "false", _BOOL, meaning="Accepted for Kafka's sake; there is no remote storage."
    ),
    "remote.storage.enable": TopicConfig(
        BOOLEAN, "false", _NEVER, meaning="Accepted for Kafka's sake; there is no remote storage."
    ),
    "retention.bytes": TopicConfig(
        LONG,
        "-1",
        at_least(-LONG_MAX - 1),
        "log.retention.bytes",
        meaning="Oldest segments are deleted beyond this size per partition; below 0: no limit.",
    ),
    "retention.ms": TopicConfig(
        LONG,
        str(WEEK_MS),
        at_least(-1),
        "log.retention.ms",
        meaning="Segments whose newest record is older are deleted; -1: no limit.",
    ),
    "segment.bytes": TopicConfig(
        INT,
        str(1 << 30),
        at_least(1024 * 1024, INT_MAX),
        "log.segment.bytes",
        meaning="Size at which a new segment is begun.",
    ),
    "segment.index.bytes": TopicConfig(
        INT,
        "10485760",
        at_least(4, INT_MAX),
        "log.index.size.max.bytes",
        meaning="Accepted for Kafka's sake; indexes are as large as they need to be.",
    ),
    "segment.jitter.ms": TopicConfig(
        LONG,
        "0",
        at_least(0),
        "log.roll.jitter.ms",
        meaning="Accepted for Kafka's sake; segments are rolled without jitter.",
    ),
    "segment.ms": TopicConfig(
        LONG,
        str(WEEK_MS),
        at_least(1),
        "log.roll.ms",
        meaning="Age at which a new segment is begun.",
    ),
    "unclean.leader.election.enable": TopicConfig(
        BOOLEAN,
        "false",
        _BOOL,
        "unclean.leader.election.enable",
        meaning="Accepted for Kafka's sake; the only replica leads.",
    ),
}


def check_config(name: str, value: str | None) -> None:
    """Raise `InvalidRequest` unless the topic config exists and may have this value."""
    config = TOPIC_CONFIGS.get(name)
    if config is None:
        raise InvalidRequest(f"Unknown topic config name: {name}")
    if value is None:
        raise InvalidRequest(f"Null value not supported for topic configs: {name}")
    if not _has_type(config, value.strip()):
        reason = f"Not a number of type {_NUMBERS[config.kind]}"
    elif not config.check.allows(value.strip()):
        reason = config.check.otherwise
    else:
        return
    raise InvalidRequest(f"Invalid value {value} for configuration {name}: {reason}")


def check_together(configs: Mapping[str, str], defaults: Mapping[str, str]) -> None:
    """Raise `InvalidRequest` if configs, each allowed for itself, contradict each other."""
    settings = log_settings(configs, defaults)
    shortest, longest = settings.min_compaction_lag_ms, settings.max_compaction_lag_ms
    if shortest > longest:
        raise InvalidRequest(
            f"conflict topic config setting min.compaction.lag.ms ({shortest}) > "
            f"max.compaction.lag.ms ({longest})"
        )


def log_settings(configs: Mapping[str, str], defaults: Mapping[str, str]) -> LogSettings:
    """Translate a topic's configs, on top of the broker's defaults, for its logs."""

    def value(name: str) -> str:
        return configs.get(name, defaults.get(name, TOPIC_CONFIGS[name].default)).strip()

    def number(name: str) -> int:
        return int(value(name))

    policies = _items(value("cleanup.policy"))
    return LogSettings(
        segment_bytes=number("segment.bytes"),
        segment_ms=number("segment.ms"),
        retention_ms=number("retention.ms"),
        retention_bytes=max(number("retention.bytes"), UNLIMITED),
        is_compacted="compact" in policies,
        is_deleted="delete" in policies,
        delete_retention_ms=number("delete.retention.ms"),
        min_compaction_lag_ms=number("min.compaction.lag.ms"),
        max_compaction_lag_ms=number("max.compaction.lag.ms"),
        min_cleanable_dirty_ratio=float(value("min.cleanable.dirty.ratio")),
        max_message_bytes=number("max.message.bytes"),
        uses_append_time=value("message.timestamp.type") == "LogAppendTime",
        timestamp_before_max_ms=number("message.timestamp.before.max.ms"),
        timestamp_after_max_ms=number("message.timestamp.after.max.ms"),
        flush_ms=number("flush.ms"),
        flush_messages=number("flush.messages"),
    )


def _has_type(config: TopicConfig, value: str) -> bool:
    if config.kind not in _NUMBERS:
        return True
    try:
        number = _number(value)
    except ValueError:
        return False
    return math.isfinite(number) and (config.kind == DOUBLE or isinstance(number, int))


def _number(value: str) -> float:
    """A whole number stays one: as a float, the largest of 64 bits would round up out of range."""
    if "_" in value:
        raise ValueError(value)
    try:
        return int(value)
    except ValueError:
        return float(value)


def _items(value: str) -> list[str]:
    return [each.strip() for each in value.split(",")]
