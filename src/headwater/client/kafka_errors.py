"""librdkafka's errors as ours: the one place where a `KafkaError` is read.

A code becomes an error class (what the caller can do) and a hint; the sentence says what was being
done, so that nobody reads `UNKNOWN_MEMBER_ID`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from confluent_kafka import KafkaError, KafkaException

from headwater.errors import (
    Conflict,
    Fenced,
    HeadwaterError,
    InvalidRecord,
    InvalidRequest,
    NotFound,
    NotSupported,
    OffsetOutOfRange,
    RecordTooLarge,
    Unavailable,
)


class _Meaning(NamedTuple):
    kind: type[HeadwaterError]
    reason: str
    hint: str
    hint_for_own_words: str | None = None
    """Unless None: where the broker has words of its own, they replace `reason`, with this hint."""


def translate(error: KafkaError, *, doing: str) -> HeadwaterError:
    """Our error for librdkafka's; `doing` completes "cannot ..."."""
    meaning = _MEANINGS.get(error.name())
    if meaning is None:
        kind = Unavailable if error.retriable() else HeadwaterError
        return kind(what=f"cannot {doing}: {_own_words(error)} ({error.name()})")
    reason, hint = meaning.reason or _own_words(error), meaning.hint
    if meaning.hint_for_own_words is not None and error.str() != KafkaError(error.code()).str():
        reason, _, given = _own_words(error).partition(" (hint: ")
        hint = given.removesuffix(")") or meaning.hint_for_own_words
    return meaning.kind(what=f"cannot {doing}: {reason}", hint=hint)


def refusal_of(exception: Exception, *, doing: str) -> HeadwaterError:
    """Our error for what librdkafka does not even send; it says so with the codes of brokers."""
    if isinstance(exception, KafkaException):
        meaning = _REFUSALS.get(exception.args[0].name())
        if meaning is not None:
            return meaning.kind(what=f"cannot {doing}: {meaning.reason}", hint=meaning.hint)
    return error_of(exception, doing=doing)


def error_of(exception: Exception | KafkaError, *, doing: str) -> HeadwaterError:
    """Our error for whatever a call into librdkafka raised or returned."""
    if isinstance(exception, HeadwaterError):
        return exception
    if isinstance(exception, KafkaError):
        return translate(exception, doing=doing)
    if isinstance(exception, KafkaException) and isinstance(exception.args[0], KafkaError):
        return translate(exception.args[0], doing=doing)
    if isinstance(exception, ValueError | TypeError):
        return InvalidRequest(what=f"cannot {doing}: {exception}")
    return HeadwaterError(what=f"cannot {doing}: {exception}")


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Around every call into librdkafka.

    Before Python 3.12 its binding loses a Ctrl-C that meets one of our callbacks: no exception is left.
    """
    try:
        yield
    except SystemError as error:
        raise KeyboardInterrupt from error
    except (KafkaException, ValueError, TypeError, RuntimeError) as error:
        raise error_of(error, doing=doing) from error


def _own_words(error: KafkaError) -> str:
    """The text of librdkafka without its "Local:" and "Broker:" prefixes."""
    text = error.str().removeprefix("Local: ").removeprefix("Broker: ").rstrip(".")
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


_UNREACHABLE = _Meaning(
    Unavailable, "no broker can be reached", "is the broker running? see: headwater doctor"
)
_TIMED_OUT = _Meaning(
    Unavailable,
    "the broker did not answer in time",
    "is it running and not overloaded? see: headwater status",
)
_NO_TOPIC = _Meaning(
    NotFound, "the topic or partition does not exist", "see the topics: headwater topic list"
)
_NO_GROUP = _Meaning(NotFound, "the group does not exist", "see the groups: headwater group list")
_LIVE_MEMBERS = _Meaning(
    Conflict,
    "the group has live members",
    "stop its consumers first; headwater group describe shows them",
)
_FORBIDDEN = _Meaning(
    InvalidRequest, "this user may not do that", "ask for the right, or use another profile"
)
_NOT_LOGGED_IN = _Meaning(
    InvalidRequest,
    "the broker refused the user or password",
    "check the security options of the connection or profile",
)
_FENCED = _Meaning(
    Fenced, "a newer instance with the same identity has taken over", "stop this one"
)
_NOT_READY = _Meaning(Unavailable, "", "the broker is not ready yet: try again")

_MEANINGS: dict[str, _Meaning] = {
    "_ALL_BROKERS_DOWN": _UNREACHABLE,
    "_TRANSPORT": _UNREACHABLE,
    "_RESOLVE": _UNREACHABLE,
    "BROKER_NOT_AVAILABLE": _UNREACHABLE,
    "NETWORK_EXCEPTION": _UNREACHABLE,
    "_TIMED_OUT": _TIMED_OUT,
    "_MSG_TIMED_OUT": _TIMED_OUT,
    "_TIMED_OUT_QUEUE": _TIMED_OUT,
    "REQUEST_TIMED_OUT": _TIMED_OUT,
    "NOT_COORDINATOR": _NOT_READY,
    "COORDINATOR_NOT_AVAILABLE": _NOT_READY,
    "COORDINATOR_LOAD_IN_PROGRESS": _NOT_READY,
    "LEADER_NOT_AVAILABLE": _NOT_READY,
    "NOT_LEADER_FOR_PARTITION": _NOT_READY,
    "NOT_CONTROLLER": _NOT_READY,
    "KAFKA_STORAGE_ERROR": _Meaning(
        Unavailable, "the broker cannot write to its disk", "look at the broker's log"
    ),
    "UNKNOWN_TOPIC_OR_PART": _NO_TOPIC,
    "_UNKNOWN_TOPIC": _NO_TOPIC,
    "_UNKNOWN_PARTITION": _NO_TOPIC,
    "UNKNOWN_TOPIC_ID": _NO_TOPIC,
    "TOPIC_ALREADY_EXISTS": _Meaning(
        Conflict, "a topic of that name exists already", "see: headwater topic describe"
    ),
    "TOPIC_EXCEPTION": _Meaning(
        InvalidRequest,
        "the topic's name is not valid, or it is one of the broker's own topics",
        "names have letters, digits, '.', '_' and '-', at most 249; those with __ belong to the broker",
        hint_for_own_words="choose another name",
    ),
    "GROUP_ID_NOT_FOUND": _NO_GROUP,
    "INVALID_GROUP_ID": _Meaning(InvalidRequest, "that is not a valid group name", ""),
    "NON_EMPTY_GROUP": _LIVE_MEMBERS,
    "UNKNOWN_MEMBER_ID": _LIVE_MEMBERS,
    "GROUP_SUBSCRIBED_TO_TOPIC": _LIVE_MEMBERS,
    "ILLEGAL_GENERATION": _Meaning(
        Conflict,
        "the group has moved these partitions to another member",
        "the records will be delivered again, to their new owner",
    ),
    "REBALANCE_IN_PROGRESS": _Meaning(Unavailable, "the group is rebalancing", "try again"),
    "FENCED_INSTANCE_ID": _FENCED,
    "PRODUCER_FENCED": _FENCED,
    "INVALID_PRODUCER_EPOCH": _FENCED,
    "_FENCED": _FENCED,
    "OFFSET_OUT_OF_RANGE": _Meaning(
        OffsetOutOfRange, "the offset is not in the log (any more)", "see: headwater topic describe"
    ),
    "MSG_SIZE_TOO_LARGE": _Meaning(
        RecordTooLarge,
        "the record is larger than the topic's max.message.bytes",
        "send less, or raise it: headwater topic alter TOPIC --set max.message.bytes=...",
    ),
    "RECORD_LIST_TOO_LARGE": _Meaning(RecordTooLarge, "", "send smaller batches"),
    "INVALID_RECORD": _Meaning(
        InvalidRecord,
        "",
        "a compacted topic takes only records with a key; "
        "and no topic takes a time that is far ahead of the broker's clock",
    ),
    "INVALID_TIMESTAMP": _Meaning(
        InvalidRecord,
        "its time is further from the broker's clock than the topic allows",
        "the limits are message.timestamp.before.max.ms and, an hour by default, "
        "message.timestamp.after.max.ms",
    ),
    "INVALID_CONFIG": _Meaning(InvalidRequest, "", ""),
    "INVALID_PARTITIONS": _Meaning(
        InvalidRequest, "", "partitions can be added later, but never taken away"
    ),
    "INVALID_REPLICATION_FACTOR": _Meaning(
        InvalidRequest, "", "a single broker keeps one replica: use --replicas 1"
    ),
    "INVALID_REQUEST": _Meaning(InvalidRequest, "", ""),
    "_INVALID_ARG": _Meaning(InvalidRequest, "", ""),
    "POLICY_VIOLATION": _Meaning(
        Conflict,
        "a policy of the topic or of the broker forbids it",
        "see the topic's settings: headwater topic describe TOPIC --all",
        hint_for_own_words="",
    ),
    "UNSUPPORTED_VERSION": _Meaning(NotSupported, "this broker is too old for that", ""),
    "_UNSUPPORTED_FEATURE": _Meaning(NotSupported, "this broker does not offer that", ""),
    "TOPIC_AUTHORIZATION_FAILED": _FORBIDDEN,
    "GROUP_AUTHORIZATION_FAILED": _FORBIDDEN,
    "CLUSTER_AUTHORIZATION_FAILED": _FORBIDDEN,
    "_AUTHENTICATION": _NOT_LOGGED_IN,
    "SASL_AUTHENTICATION_FAILED": _NOT_LOGGED_IN,
}

_REFUSALS: dict[str, _Meaning] = {
    "MSG_SIZE_TOO_LARGE": _Meaning(
        RecordTooLarge,
        "the record is larger than message.max.bytes, the limit of this client",
        "store what is that large elsewhere, and send where it is",
    ),
}
