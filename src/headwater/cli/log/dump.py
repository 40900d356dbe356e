"""`headwater log dump`."""

from pathlib import Path
from typing import Any

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.session import Session
from headwater.errors import NotFound

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
RECORD_COLUMNS = ("offset", "timestamp", "key", "value")


@headwater_command(
    "dump",
    examples=(
        "headwater log dump .headwater/orders-0",
        "headwater log dump .headwater/orders-0 --records --from 100 -n 10",
        "headwater log dump .headwater/__cluster_metadata-0 --records --json",
    ),
)
@click.argument("partition", type=click.Path(path_type=Path))
@click.option("--records", is_flag=True, help="Print records instead of batches.")
@click.option("--from", "first", default=0, metavar="OFFSET", help="Start at this offset.")
@click.option("-n", "count", type=int, metavar="N", help="Stop after N rows.")
def command(
    session: Session, partition: Path, records: bool, first: int, count: int | None
) -> None:
    """Print the batches (or records) in the files of the directory PARTITION.

    Every batch is checked; a damaged one ends the output with an error. The column transaction says
    which batches are part of one, and which end it: commit or abort. Records leave those out.
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
        rows: Any = (
            {
                "offset": each.offset,
                "timestamp": each.timestamp,
                "key": _text(each.key),
                "value": _text(each.value),
            }
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


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "backslashreplace")
