"""`headwater log dump`."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.session import Session
from headwater.client.record import Record, decode_text
from headwater.client.record_json import exact
from headwater.errors import NotFound

if TYPE_CHECKING:
    from headwater.wire import records as wire

BATCH_COLUMNS = (
    "offset",
    "last",
    "records",
    "position",
    "bytes",
    "codec",
    "producer",
    "sequence",
    "transaction",
)
RECORD_COLUMNS = ("offset", "timestamp_ms", "key", "value")


@headwater_command(
    "dump",
    examples=(
        "headwater log dump .headwater/orders-0",
        "headwater log dump .headwater/orders-0 --records --from 100 -n 10",
        "headwater log dump .headwater/__cluster_metadata-0 --records --json",
    ),
)
@click.argument("partition", type=click.Path(file_okay=False, path_type=Path))
@click.option("--records", is_flag=True, help="Print records instead of batches.")
@click.option(
    "--from",
    "first",
    type=click.IntRange(min=0),
    default=0,
    metavar="OFFSET",
    help="Start at this offset.",
)
@click.option(
    "-n",
    "count",
    type=click.IntRange(min=1, max=sys.maxsize),
    metavar="N",
    help="Stop after N rows.",
)
def command(
    session: Session, partition: Path, records: bool, first: int, count: int | None
) -> None:
    """Print the batches (or records) in the files of the directory PARTITION.

    Every batch is checked; a damaged one ends the output with an error. The column transaction says
    which batches are part of one, and which end it: commit or abort. Records leave those out, and
    are in JSON as export writes them.
    """
    from itertools import islice  # noqa: PLC0415 - only this command pays for it

    from headwater.log.disk import ReadOnlyDisk  # noqa: PLC0415
    from headwater.log.dump import batches, role  # noqa: PLC0415
    from headwater.wire.compression import NAMES  # noqa: PLC0415
    from headwater.wire.records import decode_batch  # noqa: PLC0415

    found = batches(ReadOnlyDisk(), partition, first)
    if found is None:
        raise NotFound(
            f"{partition} is not a partition", hint="name a directory like DATA/orders-0"
        )
    if records:
        row = _exact_row(partition) if session.output.is_json else _text_row
        rows: Any = (
            row(each)
            for (_, header), batch in found
            if not header.is_control
            for each in decode_batch(batch)
            if each.offset >= first
        )
        session.output.rows(RECORD_COLUMNS, islice(rows, count))
        return
    rows = (
        {
            "offset": header.base_offset,
            "last": header.last_offset,
            "records": header.record_count,
            "position": position,
            "bytes": header.size,
            "codec": NAMES.get(header.codec, str(header.codec)),
            "producer": header.producer_id if header.has_producer else None,
            "sequence": header.base_sequence if header.has_producer else None,
            "transaction": role(header, batch),
        }
        for (position, header), batch in found
    )
    session.output.rows(BATCH_COLUMNS, islice(rows, count))


def _exact_row(directory: Path) -> Callable[["wire.Record"], dict[str, Any]]:
    name = directory.resolve().name
    topic, _, number = name.rpartition("-")
    is_named = bool(topic) and number.isdecimal()

    def row(record: "wire.Record") -> dict[str, Any]:
        found = Record(
            topic=topic if is_named else name,
            partition=int(number) if is_named else -1,
            offset=record.offset,
            timestamp_ms=record.timestamp,
            key=None if record.key is None else decode_text(record.key),
            value=record.value,
            headers=tuple(record.headers),
            raw_value=record.value,
        )
        return exact(found) if is_named else {**exact(found), "partition": None}

    return row


def _text_row(record: "wire.Record") -> dict[str, Any]:
    return {
        "offset": record.offset,
        "timestamp_ms": record.timestamp,
        "key": _text(record.key),
        "value": _text(record.value),
    }


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "backslashreplace")
