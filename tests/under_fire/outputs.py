"""What came out: topics as a read_committed reader sees them, views as HTTP tells them."""

import io
import time
from collections.abc import Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json

from bulk.reading import whole
from headwater.bulk.cluster import Cluster
from headwater.bulk.reader import BulkReader
from headwater.client import Client
from headwater.client.address import find_address
from headwater.errors import HeadwaterError

SCHEMAS: Final = {
    "revenue": pa.schema(
        [
            ("minute", pa.timestamp("us")),
            ("product", pa.int64()),
            ("events", pa.int64()),
            ("total", pa.int64()),
            ("last_id", pa.int64()),
        ]
    ),
    "purchases": pa.schema(
        [
            ("id", pa.int64()),
            ("account", pa.int64()),
            ("region", pa.string()),
            ("amount", pa.int64()),
        ]
    ),
    "totals": pa.schema([("account", pa.int64()), ("events", pa.int64()), ("total", pa.int64())]),
}
FOLLOWED_WITHIN_S: Final = 120


def records(bootstrap: str, topic: str) -> pa.Table:
    """Every record of a topic, in the order of its partitions."""
    with Cluster(find_address(bootstrap).endpoints) as cluster:
        reader = BulkReader(cluster, with_headers=True)
        batches = [
            batch
            for partition in cluster.topics([topic])[topic].partitions
            for batch in reader.read(whole(cluster, topic, partition))
        ]
    return pa.Table.from_batches(batches)


def parsed(dataset: str, written: pa.Table) -> pa.Table:
    """The values of records as typed rows; parsed by Arrow, not by us."""
    lines = io.BytesIO(b"\n".join(written["value"].to_pylist()))
    options = json.ParseOptions(
        explicit_schema=SCHEMAS[dataset], unexpected_field_behavior="ignore"
    )
    return json.read_json(lines, parse_options=options)


def latest(written: pa.Table) -> pa.Table:
    """The last record of each key: what the topic stands for."""
    numbered = written.append_column("row", pa.array(range(written.num_rows)))
    last = numbered.group_by("key").aggregate([("row", "max")])["row_max"]
    return written.take(last)


def told_twice(written: pa.Table) -> int:
    """A changelog tells of a row when its count has grown: the same again was written twice."""
    distinct = written.group_by(["key", "value"]).aggregate([])
    return written.num_rows - distinct.num_rows


def served(client: Client, dataset: str, written: pa.Table) -> pa.Table:
    """The rows of a view over HTTP, once it has followed its topic to the end."""
    view = client.view(f"fire.{dataset}")
    ends = written.group_by("partition").aggregate([("offset", "max")]).to_pylist()
    deadline = time.monotonic() + FOLLOWED_WITHIN_S
    while not _reaches(_position(client, dataset), {e["partition"]: e["offset_max"] for e in ends}):
        assert time.monotonic() < deadline, f"{view.name} does not follow: {view.describe().status}"
        time.sleep(0.1)
    rows = [dict(row) for row in view.rows()]
    table = pa.Table.from_pylist(rows).select(SCHEMAS[dataset].names)
    if "minute" in table.column_names:
        plain = pc.cast(table["minute"], pa.timestamp("us", "UTC")).cast(pa.timestamp("us"))
        table = table.set_column(0, "minute", plain)
    return table


def _position(client: Client, dataset: str) -> Mapping[int, int]:
    try:
        return client.view(f"fire.{dataset}").describe().status.as_of or {}
    except HeadwaterError:
        return {}


def _reaches(position: Mapping[int, int], ends: Mapping[int, int]) -> bool:
    return all(position.get(partition, 0) > end for partition, end in ends.items())
