"""What the user wants to read: the options of the source, checked before anything is connected."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from headwater.bulk.cluster import EARLIEST, LATEST
from headwater.bulk.ranges import Isolation, TopicPartition
from headwater.errors import InvalidRequest
from headwater.streams.log_access import LogAccess
from headwater.streams.options import Options
from headwater.streams.source.offsets import AtOffsets, AtTimes, Bound, Everywhere, from_json

KNOWN: Final = (
    "subscribe",
    "subscribePattern",
    "assign",
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "endingOffsets",
    "endingTimestamp",
    "endingOffsetsByTimestamp",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "minPartitions",
    "maxRecordsPerPartition",
    "failOnDataLoss",
    "includeHeaders",
    "isolation",
    "valueFormat",
    "valueSchema",
    "metadata",
    "badRecords",
    "deadLetterTopic",
    "queryName",
    # Spark's Kafka source has these; here there is nothing that they could change.
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "groupIdPrefix",
)
NOT_SETTABLE: Final = {
    "auto.offset.reset": "set startingOffsets",
    "enable.auto.commit": "the checkpoint of the query keeps its offsets",
    "key.deserializer": "keys are bytes; cast them in the query",
    "value.deserializer": "values are bytes; cast them in the query, or set valueSchema",
    "interceptor.classes": "there are no classes of Java here",
}
METADATA: Final = ("key", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
MARK: Final = "_"
"""Begins the name of a column that is not of the value: `_offset`."""
DEAD_SUFFIX: Final = ".dead"
_ISOLATIONS: Final = ("read_committed", "read_uncommitted")
_LAST_TIME_MS: Final = 2**63 - 1
_ENDS: Final = {"earliest": EARLIEST, "latest": LATEST}


@dataclass(frozen=True, slots=True)
class Subscription:
    """Exactly one of three ways to say which partitions."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True, slots=True)
class Pace:
    """How much goes into one micro-batch, and into how many tasks."""

    max_offsets: int | None
    min_offsets: int | None
    max_delay_ms: int
    min_partitions: int | None
    max_records_per_partition: int | None


@dataclass(frozen=True, slots=True)
class ValueOptions:
    """How values become columns; `format` is None for raw bytes."""

    format: str | None
    schema: str | None
    metadata: tuple[str, ...]
    fails_on_bad: bool
    dead_letter_topic: str | None
    query: str | None = None
    """Who reads, for the dead letters."""

    @property
    def of_record(self) -> dict[str, str]:
        """Columns that stand for one of the record, by name: `_offset` for `offset`.

        Where the schema is not an option but Spark's own, its names alone tell.
        """
        names = METADATA if self.schema is None else self.metadata
        return {MARK + each: each for each in names}

    def dead_letter_topic_of(self, topic: str) -> str:
        return self.dead_letter_topic or topic + DEAD_SUFFIX


@dataclass(frozen=True, slots=True)
class SourceOptions:
    log: LogAccess
    subscription: Subscription
    starting: Bound
    ending: Bound
    pace: Pace
    values: ValueOptions
    isolation: Isolation
    fails_on_data_loss: bool
    with_headers: bool

    @classmethod
    def of(cls, given: Mapping[str, str], *, is_stream: bool | None) -> "SourceOptions":
        """Raises `InvalidRequest` for what cannot be meant; None: it is not known yet which it will be."""
        options = Options(given, KNOWN)
        kafka = options.kafka(NOT_SETTABLE)
        isolation = kafka.pop("isolation.level", None) or options.choice("isolation", _ISOLATIONS)
        if isolation not in _ISOLATIONS:
            raise InvalidRequest(f"kafka.isolation.level must be {' or '.join(_ISOLATIONS)}")
        values = _values(options)
        if is_stream:
            _refuse(options, "is for batch reads; a stream has no end", *_ENDING)
        return cls(
            log=LogAccess.of(kafka),
            subscription=_subscription(options, values),
            starting=_starting(options, is_stream=is_stream),
            ending=_bound(options, "ending", Everywhere(LATEST)),
            pace=_pace(options),
            values=values,
            isolation=Isolation[isolation.upper()],
            fails_on_data_loss=options.flag("failOnDataLoss", default=True),
            with_headers=_with_headers(options, values),
        )


def _with_headers(options: Options, values: ValueOptions) -> bool:
    is_wanted = options.flag("includeHeaders", default=False)
    if is_wanted and values.format is not None:
        raise InvalidRequest(
            "option includeHeaders is for raw columns",
            hint="add headers to the option metadata: the column is _headers",
        )
    return is_wanted


_ENDING: Final = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")


def _refuse(options: Options, reason: str, *names: str) -> None:
    for each in names:
        if options.text(each) is not None:
            raise InvalidRequest(f"option {each} {reason}")


def _pace(options: Options) -> Pace:
    most, fewest = options.number("maxOffsetsPerTrigger"), options.number("minOffsetsPerTrigger")
    if most is not None and fewest is not None and fewest > most:
        raise InvalidRequest(f"minOffsetsPerTrigger {fewest} is above maxOffsetsPerTrigger {most}")
    return Pace(
        max_offsets=most,
        min_offsets=fewest,
        max_delay_ms=options.duration_ms("maxTriggerDelay", "15m"),
        min_partitions=options.number("minPartitions"),
        max_records_per_partition=options.number("maxRecordsPerPartition"),
    )


def _subscription(options: Options, values: ValueOptions) -> Subscription:
    given = [each for each in ("subscribe", "subscribePattern", "assign") if options.text(each)]
    if len(given) != 1:
        raise InvalidRequest(
            f"{' and '.join(given) if given else 'no topic'} given: what is to be read?",
            hint="set one of the options subscribe, subscribePattern and assign",
        )
    topics = options.names("subscribe")
    pattern = options.text("subscribePattern")
    try:
        re.compile(pattern or "")
    except re.error as error:
        raise InvalidRequest(f"subscribePattern {pattern!r} is no pattern: {error}") from error
    if values.dead_letter_topic in topics:
        raise InvalidRequest(
            f"dead letters of {values.dead_letter_topic!r} cannot go to where they come from",
            hint="name another deadLetterTopic",
        )
    return Subscription(topics, pattern, _assigned(options.json("assign")))


def _assigned(written: Any) -> tuple[TopicPartition, ...]:
    if written is None:
        return ()
    try:
        found = [(topic, each) for topic, some in written.items() for each in some]
    except (AttributeError, TypeError):
        found = []
    if not found or any(type(each) is not int for _, each in found):
        raise InvalidRequest(
            f"assign is not a mapping of topics to partitions: {written!r}",
            hint='write it as {"orders": [0, 1]}',
        )
    return tuple(TopicPartition(*each) for each in found)


def _starting(options: Options, *, is_stream: bool | None) -> Bound:
    bound = _bound(options, "starting", Everywhere(LATEST if is_stream else EARLIEST))
    offsets = bound.offsets.values() if isinstance(bound, AtOffsets) else ()
    is_latest = bound == Everywhere(LATEST) or LATEST in offsets
    if is_latest and is_stream is False:
        raise InvalidRequest("a batch read cannot start at the latest offset: nothing is there yet")
    return bound


def _bound(options: Options, side: str, default: Bound) -> Bound:
    """Time comes before offsets, as in Spark."""
    is_end = side == "ending"
    strategy = options.choice("startingOffsetsByTimestampStrategy", ("error", "latest"))
    or_latest = is_end or strategy == "latest"
    name = f"{side}Timestamp"
    if (time := options.text(name)) is not None:
        _refuse_no_time(int(time) if time.isdecimal() and len(time) < 20 else time, name)
        return AtTimes(int(time), name, or_latest)
    name = f"{side}OffsetsByTimestamp"
    if (times := options.json(name)) is not None:
        by_partition = from_json(times, f"option {name}")
        for each in by_partition.values():
            _refuse_no_time(each, name)
        return AtTimes(by_partition, name, or_latest)
    name = f"{side}Offsets"
    written = options.text(name)
    if written is None:
        return default
    if written.strip().lower() in _ENDS:
        offset = _ENDS[written.strip().lower()]
        if is_end and offset == EARLIEST:
            raise InvalidRequest("option endingOffsets cannot be earliest")
        return Everywhere(offset)
    offsets = from_json(options.json(name), f"option {name}")
    if any(each < EARLIEST for each in offsets.values()) or (
        is_end and EARLIEST in offsets.values()
    ):
        raise InvalidRequest(f"option {name} has an offset below 0: {written}")
    return AtOffsets(offsets, name)


def _refuse_no_time(given: int | str, option: str) -> None:
    """To brokers, times below 0 are marks of something else."""
    if isinstance(given, str) or not 0 <= given <= _LAST_TIME_MS:
        raise InvalidRequest(f"option {option} must be a time in milliseconds, not {given!r}")


def _values(options: Options) -> ValueOptions:
    schema = options.text("valueSchema")
    kind = options.text("valueFormat")
    chosen = options.choice("valueFormat", ("json", "raw"))
    format_name = None if chosen == "raw" or (kind is None and schema is None) else chosen
    metadata = options.names("metadata")
    for each in metadata:
        if each not in METADATA:
            raise InvalidRequest(f"metadata has no {each!r}", hint=f"it has {', '.join(METADATA)}")
        if metadata.count(each) > 1:
            raise InvalidRequest(f"option metadata names {each!r} twice")
    if format_name is None:
        _refuse(options, "needs a valueFormat", "valueSchema", "metadata", "deadLetterTopic")
    return ValueOptions(
        format=format_name,
        schema=schema,
        metadata=metadata,
        fails_on_bad=options.choice("badRecords", ("deadletter", "fail")) == "fail",
        dead_letter_topic=options.text("deadLetterTopic"),
        query=options.text("queryName"),
    )
