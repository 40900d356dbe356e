"""What a broker's error code means for a reader or a writer."""

from typing import Final

from headwater.errors import (
    Corruption,
    Fenced,
    HeadwaterError,
    InvalidRecord,
    InvalidRequest,
    InvalidTransaction,
    NotFound,
    NotSupported,
    OffsetOutOfRange,
    RecordTooLarge,
    Unavailable,
)
from headwater.wire.error_codes import ErrorCode

_FENCED: Final = (Fenced, "a newer instance with the same identity has taken over", "stop this one")
_MEANINGS: Final[dict[int, tuple[type[HeadwaterError], str, str]]] = {
    ErrorCode.OFFSET_OUT_OF_RANGE: (
        OffsetOutOfRange,
        "the offset is not in the log (any more)",
        "see: headwater topic describe",
    ),
    ErrorCode.CORRUPT_MESSAGE: (
        Corruption,
        "the broker found damage on its disk",
        "see: headwater log verify",
    ),
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: (
        NotFound,
        "the topic or partition does not exist",
        "see: headwater topic list",
    ),
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: (
        InvalidRequest,
        "this user may not do that",
        "ask for the right to this topic",
    ),
    ErrorCode.INVALID_TOPIC_EXCEPTION: (
        InvalidRequest,
        "that is not a valid topic name",
        "use letters, digits, '.', '_' and '-', at most 249 of them",
    ),
    ErrorCode.PRODUCER_FENCED: _FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH: _FENCED,
    ErrorCode.INVALID_TXN_STATE: (
        InvalidTransaction,
        "its transaction is over",
        "it took longer than transaction.timeout.ms, or the broker was asked to abort it",
    ),
    ErrorCode.INVALID_TRANSACTION_TIMEOUT: (
        InvalidRequest,
        "transaction.timeout.ms is larger than the broker allows",
        "see transaction.max.timeout.ms of the broker",
    ),
    ErrorCode.MESSAGE_TOO_LARGE: (
        RecordTooLarge,
        "a record is larger than the topic's max.message.bytes",
        "send less, or raise it: headwater topic alter TOPIC --set max.message.bytes=...",
    ),
    ErrorCode.INVALID_RECORD: (
        InvalidRecord,
        "a record breaks a rule of the topic",
        "a compacted topic takes only records with a key",
    ),
    ErrorCode.INVALID_TIMESTAMP: (
        InvalidRecord,
        "a record's time is further from now than the topic allows",
        "see message.timestamp.before.max.ms and message.timestamp.after.max.ms of the topic",
    ),
    ErrorCode.UNSUPPORTED_VERSION: (NotSupported, "the broker is older than Kafka 3.0", ""),
}
_PASSING: Final = frozenset(
    {
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.BROKER_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    }
)
"""A new leader, a restart, a commit under way: gone after new metadata and another try."""
_NAMES: Final = {each.value: each.name for each in ErrorCode}


def refuse(code: int, *, doing: str) -> None:
    """Raise our error for a broker's code, if it is one; `doing` completes "cannot ..."."""
    if code == ErrorCode.NONE:
        return
    name = _NAMES.get(code, str(code))
    if code in _PASSING:
        raise Unavailable(f"cannot {doing}: the broker is not ready for it ({name})", "try again")
    kind, reason, hint = _MEANINGS.get(code, (HeadwaterError, f"the broker says {name}", ""))
    raise kind(f"cannot {doing}: {reason}", hint)
