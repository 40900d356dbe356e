"""`headwater topic export`."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.progress import Progress
from headwater.cli.session import Session
from headwater.cli.streams import hint_of, reason_of
from headwater.cli.suggestions import require_topic
from headwater.client.record import Record
from headwater.client.record_json import as_json, exact
from headwater.errors import Conflict, Corruption, HeadwaterError, InvalidRequest

if TYPE_CHECKING:
    from headwater.client.admin.topics import TopicDetails

_STDOUT = Path("-")


@headwater_command(
    "export",
    examples=(
        "headwater topic export orders -o orders.jsonl",
        "headwater topic export orders -o orders.jsonl --resume",
        "headwater topic export orders --range @-1d:end --format raw > values.txt",
    ),
)
@click.argument("topic")
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    help="File (stdout).",
)
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

    A jsonl file holds keys, headers, partitions and timestamps: import restores the same
    records, but for those at 1970-01-01T00:00:00Z, a time that the client cannot send.
    """
    path = None if path == _STDOUT else path
    if resume and (path is None or file_format != "jsonl"):
        raise click.UsageError("--resume needs --output and the format jsonl")
    if path is not None and path.exists() and not resume:
        raise click.UsageError(f"{path} exists: choose another file, or --resume")
    done = _positions(path, topic) if resume and path and path.exists() else {}
    progress = Progress(session.output, "exported")
    encode = _exact_line if file_format == "jsonl" else _raw_line
    with session.connect() as client:
        require_topic(client, topic)
        _refuse_another_life(done, client.admin.topics.describe(topic))
        with (
            _written(path) as file,
            client.consumer(topic, start=_bounded(offsets), value_format="bytes") as records,
        ):
            for batch in records.batches(max_records=5000, max_wait_s=0.1):
                new = [record for record in batch if record.offset >= done.get(record.partition, 0)]
                file.write(b"".join(encode(record) for record in new))
                progress.advance(len(new))
    progress.finish()
    session.output.note(f"exported {progress.count} records of {topic}")


def _bounded(offsets: str) -> str:
    if ":" not in offsets or offsets.endswith(":"):
        raise click.UsageError(f"--range {offsets!r} has no end: write, for example, start:end")
    return offsets


@contextmanager
def _written(path: Path | None) -> Iterator[IO[bytes]]:
    """The file to append to, or stdout; what was written to a file is durable at the end."""
    if path is None:
        # A copy of the descriptor, so that leaving the block does not close stdout.
        with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as file:
            yield file
        return
    try:
        opened = path.open("ab")
    except OSError as error:
        raise InvalidRequest(f"cannot write {path}: {reason_of(error)}", hint_of(error)) from error
    try:
        with opened:
            yield opened
            opened.flush()
            os.fsync(opened.fileno())
    except OSError as error:
        raise HeadwaterError(
            f"cannot write {path}: {reason_of(error)}", hint="make room, then go on with --resume"
        ) from error


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


def _positions(path: Path, topic: str) -> dict[int, int]:
    """The next offset per partition after what the file holds; an unfinished line is cut off."""
    if not path.is_file():
        raise InvalidRequest(f"{path} is not a file that can be gone on with", hint="name another")
    positions: dict[int, int] = {}
    end = 0
    with path.open("rb+") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                break
            try:
                record = json.loads(line)
                found = record["topic"]
                positions[record["partition"]] = record["offset"] + 1
            except (ValueError, KeyError, TypeError) as error:
                raise Corruption(
                    what=f"{path} line {number} was not written by export",
                    hint="remove the file and export again",
                ) from error
            if found != topic:
                raise Conflict(
                    what=f"{path} line {number} is a record of topic {found!r}, not of {topic!r}",
                    hint="choose another file",
                )
            end += len(line)
        file.truncate(end)
    return positions


def _refuse_another_life(done: dict[int, int], topic: "TopicDetails") -> None:
    """A topic that ends before the file does is not the one that the file was written from."""
    ends = {each.partition: each.end_offset for each in topic.partitions}
    for partition, position in done.items():
        if position > ends.get(partition, 0):
            raise Conflict(
                what=f"the file has partition {partition} of {topic.name!r} up to offset "
                f"{position - 1}, which the topic has not: it was made anew",
                hint="choose another file",
            )
