"""What the sink is told: checked on the driver, sent to the tasks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from pyspark.sql.types import ArrayType, BinaryType, IntegerType, StringType, StructType

from headwater.client.address import find_address
from headwater.errors import InvalidRequest

KAFKA_PREFIX: Final = "kafka."
LONGEST_TRANSACTION_MS: Final = 900_000
"""What brokers allow unless they are told otherwise (`transaction.max.timeout.ms`)."""

_COLUMNS: Final = {
    "key": (StringType, BinaryType),
    "value": (StringType, BinaryType),
    "topic": (StringType,),
    "partition": (IntegerType,),
    "headers": (ArrayType,),
}
_CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")


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
    def of(cls, options: Mapping[str, str], schema: StructType) -> Self:
        """Read Spark's options, in any case; raises `InvalidRequest` for what is wrong."""
        refuse_wrong_columns(schema)
        given = {name.lower(): value for name, value in options.items()}
        kafka = {
            name.removeprefix(KAFKA_PREFIX): value
            for name, value in given.items()
            if name.startswith(KAFKA_PREFIX)
        }
        kafka["bootstrap.servers"] = find_address(kafka.get("bootstrap.servers")).bootstrap
        compression = kafka.pop("compression.type", given.get("compression", "none"))
        if compression not in _CODECS:
            raise InvalidRequest(
                f"there is no compression {compression!r}", hint=f"use {', '.join(_CODECS)}"
            )
        checkpoint = given.get("checkpointlocation")
        return cls(
            topic=given.get("topic"),
            kafka_options=tuple(sorted(kafka.items())),
            atomic=given.get("atomic", "false").lower() == "true",
            staging=given.get("staging", f"{checkpoint}-staging" if checkpoint else None),
            transaction_timeout_ms=int(
                given.get("transactiontimeoutms", str(LONGEST_TRANSACTION_MS))
            ),
            compression=compression,
            batch=StreamBatch(given["queryid"], int(given["batchid"]))
            if "queryid" in given
            else None,
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
