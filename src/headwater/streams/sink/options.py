"""Where rows are to be written, and how: the options of the sink, checked before anything is connected."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from headwater.errors import InvalidRequest
from headwater.streams.log_access import LogAccess
from headwater.streams.options import Options

KNOWN: Final = (
    "topic",
    "defaultTopic",
    "atomic",
    "onMissingMarker",
    "batchId",
    "runId",
    "stagingDirectory",
    # Spark hands these on; the checkpoint's folder is also where an atomic sink stages by default.
    "checkpointLocation",
    "queryName",
    # Of Spark's Kafka sink: here a column of headers is enough.
    "includeHeaders",
)
NOT_SETTABLE: Final = {
    "transactional.id": "the sink has one for each task, to write exactly once",
    "enable.idempotence": "the sink needs it, to write exactly once",
    "acks": "the sink waits until what it wrote is durable",
    "key.serializer": "keys are text or bytes; cast them in the query",
    "value.serializer": "values are text or bytes; cast them in the query",
}
STAGING: Final = "headwater-staging"


@dataclass(frozen=True, slots=True)
class SinkOptions:
    log: LogAccess
    topic: str | None
    """Where rows go."""
    is_topic_of_all: bool
    """Whether also those go there that name another topic, as in Spark's Kafka sink."""
    staging: str | None
    """A folder for what an atomic batch will write; None if each task writes for itself."""
    batch_id: int | None
    """Of a write inside `foreachBatch`: the batch of the stream that it is part of."""
    run_id: str | None
    """Of such a write: tells this run of the stream from all others; only `into_topic` knows it."""
    writes_without_marker: bool
    """Whether a batch that is not the first is written although nothing is known of those before."""

    @classmethod
    def of(cls, given: Mapping[str, str], *, is_stream: bool) -> "SinkOptions":
        options = Options(given, KNOWN)
        kafka = options.kafka(NOT_SETTABLE)
        topic, default = options.text("topic"), options.text("defaultTopic")
        if topic and default:
            raise InvalidRequest(
                "option defaultTopic has no effect beside topic",
                hint="topic is for all rows, defaultTopic for those that name none",
            )
        batch_id = options.text("batchId")
        if batch_id is not None and (is_stream or not batch_id.isdecimal()):
            raise InvalidRequest(
                f"option batchId cannot be {batch_id!r} here",
                hint="it is for writes inside foreachBatch, and is the batch id given there",
            )
        is_atomic = options.flag("atomic", default=False)
        if is_atomic and not is_stream and batch_id is None:
            raise InvalidRequest(
                "option atomic is for streams",
                hint="a batch write is visible task by task; write it in one with coalesce(1)",
            )
        return cls(
            log=LogAccess.of(kafka),
            topic=topic or default,
            is_topic_of_all=topic is not None,
            staging=_staging(options) if is_atomic else None,
            batch_id=None if batch_id is None else int(batch_id),
            run_id=options.text("runId") or None,
            writes_without_marker=options.choice("onMissingMarker", ("fail", "write")) == "write",
        )


def _staging(options: Options) -> str:
    given = options.text("stagingDirectory")
    if given is not None:
        return given
    checkpoint = options.text("checkpointLocation")
    if checkpoint is None:
        raise InvalidRequest(
            "an atomic sink needs a folder to stage its rows in",
            hint="set checkpointLocation on this query, or the option stagingDirectory",
        )
    return f"{checkpoint.rstrip('/')}/{STAGING}"
