"""The columns of a record, as Spark's Kafka source names and types them."""

from typing import Final

import pyarrow as pa

TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
HEADER: Final = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
HEADERS: Final = pa.list_(pa.field("element", HEADER))

_RECORD: Final = (
    pa.field("key", pa.binary()),
    pa.field("value", pa.binary()),
    pa.field("topic", pa.string()),
    pa.field("partition", pa.int32()),
    pa.field("offset", pa.int64()),
    pa.field("timestamp", TIMESTAMP),
    pa.field("timestampType", pa.int32()),
)
WITHOUT_HEADERS: Final = pa.schema(_RECORD)
WITH_HEADERS: Final = pa.schema([*_RECORD, pa.field("headers", HEADERS)])

CREATE_TIME: Final = 0
LOG_APPEND_TIME: Final = 1
