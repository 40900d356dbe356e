"""`headwater log verify`."""

from pathlib import Path

import click

from headwater.cli import exit_codes
from headwater.cli.command import command as headwater_command
from headwater.cli.progress import Progress
from headwater.cli.session import Session
from headwater.errors import NotFound

COLUMNS = ("partition", "segments", "batches", "records", "bytes", "first", "next", "state")


@headwater_command(
    "verify",
    examples=(
        "headwater log verify",
        "headwater log verify /var/lib/headwater",
        "headwater log verify --json | jq 'select(.state != \"ok\")'",
    ),
)
@click.argument("data", default=".headwater", type=click.Path(file_okay=False, path_type=Path))
def command(session: Session, data: Path) -> None:
    """Check every file under DATA against its checksum.

    Nothing is changed. Exits with 1 if anything is damaged. An unfinished tail, which a crash may
    leave and no producer was ever told of, is not damage: the next start cuts it.
    """
    from headwater.log.disk import ReadOnlyDisk  # noqa: PLC0415 - only this command pays for it
    from headwater.log.verify import partition_directories, verify  # noqa: PLC0415

    disk = ReadOnlyDisk()
    directories = partition_directories(disk, data)
    if not directories:
        raise NotFound(f"there are no partitions in {data}", hint="name the --data of the broker")
    reports = []
    progress = Progress(session.output, "verified")
    for each in directories:
        reports.append(verify(disk, each))
        progress.advance(reports[-1].records)
    progress.finish()
    session.output.rows(
        COLUMNS,
        [
            {
                "partition": each.partition,
                "segments": each.segments,
                "batches": each.batches,
                "records": each.records,
                "markers": each.markers,
                "bytes": each.size_bytes,
                "first": each.first_offset,
                "next": each.next_offset,
                "state": "ok" if each.is_sound else "damaged",
                "unfinished_bytes": each.unfinished_bytes,
                "damage": [str(damage) for damage in each.damage],
            }
            for each in reports
        ],
    )
    damaged = [damage for each in reports for damage in each.damage]
    for damage in damaged:
        session.output.note(f"damage: {damage}")
    if damaged:
        raise click.exceptions.Exit(exit_codes.FAILED)
