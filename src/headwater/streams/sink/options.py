"""What the sink is told: checked on the driver, sent to the tasks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from pyspark.sql.types import ArrayType, BinaryType, IntegerType, StringType, StructType

from headwater.client.address import find_address
from headwater.errors import InvalidRequest
from headwater.streams.options import Options

KNOWN: Final = (
    "topic",
    "atomic",
    "staging",
    "transactionTimeoutMs",
    "compression",
    "checkpointLocation",
    "queryId",
    "batchId",
    # Spark hands these on, though they are its own.
    "path",
    "queryName",
)
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
LONGEST_TRANSACTION_MS: Final = 900_000
"""What brokers allow unless they are told otherwise (`transaction.max.timeout.ms`)."""

_COLUMNS: Final = {
    "key": (StringType, BinaryType),
    "value": (StringType, BinaryType),
    "topic": (StringType,),
    "partition": (IntegerType,),
    "headers": (ArrayType,),
}


@dataclass(frozen=True, slots=True)
class StreamBatch:
    """Which batch of which query is written, where Spark itself does not say: in `foreachBatch`."""

    query_id: str
    batch_id: int


@dataclass(frozen=True, slots=True)
class SinkOptions:
    topic: str | None
    kafka_options: tuple[tuple[str, str], ...]
    """librdkafka's, as for security; a tuple, so that producers can be kept by it."""
    atomic: bool = False
    staging: str | None = None
    """Where rows of an atomic batch wait for its commit; driver and executors share it."""
    transaction_timeout_ms: int = LONGEST_TRANSACTION_MS
    compression: str = "none"
    batch: StreamBatch | None = None

    @classmethod
    def of(cls, given: Mapping[str, str], schema: StructType) -> Self:
        """Read Spark's options; raises `InvalidRequest` for what is wrong."""
        refuse_wrong_columns(schema)
        options = Options(given, KNOWN)
        kafka = options.kafka()
        compression = kafka.pop("compression.type", None)
        kafka["bootstrap.servers"] = find_address(kafka.get("bootstrap.servers")).bootstrap
        checkpoint = options.text("checkpointLocation")
        query_id = options.text("queryId")
        return cls(
            topic=options.text("topic"),
            kafka_options=tuple(sorted(kafka.items())),
            atomic=options.flag("atomic", default=False),
            staging=options.text("staging") or (f"{checkpoint}-staging" if checkpoint else None),
            transaction_timeout_ms=options.number("transactionTimeoutMs") or LONGEST_TRANSACTION_MS,
            compression=compression or options.choice("compression", CODECS),
            batch=StreamBatch(query_id, int(options.text("batchId") or 0)) if query_id else None,
        )

    @property
    def kafka(self) -> dict[str, str]:
        return dict(self.kafka_options)


def refuse_wrong_columns(schema: StructType) -> None:
    names = [each.name for each in schema.fields]
    if "value" not in names:
        raise InvalidRequest(
            f"the sink needs a column named value; there are {', '.join(names) or 'none'}",
            hint="for example: df.selectExpr('CAST(id AS STRING) AS key', 'to_json(struct(*)) AS value')",
        )
    for each in schema.fields:
        kinds = _COLUMNS.get(each.name)
        if kinds is None:
            raise InvalidRequest(
                f"the sink does not know the column {each.name!r}",
                hint=f"it writes {', '.join(_COLUMNS)}",
            )
        if not isinstance(each.dataType, kinds):
            wanted = " or ".join(kind.typeName() for kind in kinds)
            raise InvalidRequest(
                f"the column {each.name!r} must be {wanted}, not {each.dataType.simpleString()}"
            )
