"""`headwater topic export`."""

import json
import os
import sys
from pathlib import Path
from typing import IO

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.progress import Progress
from headwater.cli.session import Session
from headwater.cli.suggestions import require_topic
from headwater.client.record import Record
from headwater.client.record_json import as_json, exact
from headwater.errors import Corruption, InvalidRequest


@headwater_command(
    "export",
    examples=(
        "headwater topic export orders -o orders.jsonl",
        "headwater topic export orders -o orders.jsonl --resume",
        "headwater topic export orders --range @-1d:end --format raw > values.txt",
    ),
)
@click.argument("topic")
@click.option("-o", "--output", "path", type=click.Path(path_type=Path), help="File (stdout).")
@click.option("--range", "offsets", default="start:end", metavar="FROM:UNTIL", help="What to read.")
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["jsonl", "raw"]),
    default="jsonl",
    help="jsonl keeps everything; raw writes values only, one per line.",
)
@click.option("--resume", is_flag=True, help="Go on with a file that was not finished.")
def command(
    session: Session,
    topic: str,
    path: Path | None,
    offsets: str,
    file_format: str,
    resume: bool,
) -> None:
    """Write the records of a topic into a file.

    A jsonl file holds keys, headers, partitions and timestamps: import restores the same records.
    """
    if resume and (path is None or file_format != "jsonl"):
        raise click.UsageError("--resume needs --output and the format jsonl")
    if path is not None and path.exists() and not resume:
        raise click.UsageError(f"{path} exists: choose another file, or --resume")
    done = _positions(path) if resume and path and path.exists() else {}
    progress = Progress(session.output, "exported")
    encode = _exact_line if file_format == "jsonl" else _raw_line
    with session.connect() as client:
        require_topic(client, topic)
        with (
            _open(path) as file,
            client.consumer(topic, start=_bounded(offsets), value_format="bytes") as records,
        ):
            for batch in records.batches(max_records=5000, max_wait_s=0.1):
                new = [record for record in batch if record.offset >= done.get(record.partition, 0)]
                file.write(b"".join(encode(record) for record in new))
                progress.advance(len(new))
            file.flush()
            if path is not None:
                os.fsync(file.fileno())
    progress.finish()
    session.output.note(f"exported {progress.count} records of {topic}")


def _bounded(offsets: str) -> str:
    if ":" not in offsets or offsets.endswith(":"):
        raise click.UsageError(f"--range {offsets!r} has no end: write, for example, start:end")
    return offsets


def _open(path: Path | None) -> IO[bytes]:
    if path is not None:
        return path.open("ab")
    # A copy of the descriptor, so that leaving the block does not close stdout.
    return os.fdopen(os.dup(sys.stdout.fileno()), "wb")


def _exact_line(record: Record) -> bytes:
    return f"{as_json(exact(record))}\n".encode()


def _raw_line(record: Record) -> bytes:
    value = record.raw_value or b""
    if b"\n" in value:
        raise InvalidRequest(
            what=f"{record.topic}/{record.partition} offset {record.offset}: the value has a line "
            "break, so lines would not be records",
            hint="use --format jsonl",
        )
    return value + b"\n"


def _positions(path: Path) -> dict[int, int]:
    """The next offset per partition after what the file holds; an unfinished line is cut off."""
    positions: dict[int, int] = {}
    end = 0
    with path.open("rb+") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                break
            try:
                record = json.loads(line)
                positions[record["partition"]] = record["offset"] + 1
            except (ValueError, KeyError, TypeError) as error:
                raise Corruption(
                    what=f"{path} line {number} was not written by export",
                    hint="remove the file and export again",
                ) from error
            end += len(line)
        file.truncate(end)
    return positions
