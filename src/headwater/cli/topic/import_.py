"""`headwater topic import`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.progress import Progress
from headwater.cli.session import Session
from headwater.cli.suggestions import require_topic
from headwater.client.record_json import Line, parse_exact
from headwater.errors import Conflict, InvalidRecord

if TYPE_CHECKING:
    from headwater.client import Producer

_CHUNK = 1000


@headwater_command(
    "import",
    examples=(
        "headwater topic import orders-copy orders.jsonl",
        "headwater topic import orders-copy orders.jsonl --repartition",
        "headwater topic import notes lines.txt --format raw",
    ),
)
@click.argument("topic")
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["jsonl", "raw"]),
    default="jsonl",
    help="jsonl as export writes it; raw makes each line a value.",
)
@click.option("--repartition", is_flag=True, help="Let the key choose the partition, not the file.")
@click.option(
    "--restart", is_flag=True, help="Begin at the first line, also after a broken import."
)
def command(
    session: Session, topic: str, path: Path, file_format: str, repartition: bool, restart: bool
) -> None:
    """Write the records of a file into a topic.

    An import that breaks off notes how far it came in FILE.progress, and the next one goes on from
    there. The lines after that note, at most 1000, may have been written already.
    """
    mark = _Mark(path, topic)
    start = 0 if restart else mark.read()
    progress = Progress(session.output, "imported")
    parse = _parse_exact if file_format == "jsonl" else _parse_raw
    with session.connect() as client:
        require_topic(client, topic)
        partitions = len(client.admin.topics.describe(topic).partitions)
        with path.open("rb") as file, client.producer(value_format="bytes") as producer:
            file.seek(start)
            for chunk, end in _chunks(file):
                for number, text in enumerate(chunk, start=progress.count + 1):
                    line = parse(text, f"{path} record {number}")
                    if not repartition:
                        _refuse_partition(line, topic, partitions)
                    _send(producer, topic, line, keep_partition=not repartition)
                producer.flush()
                progress.advance(len(chunk))
                mark.write(end)
    mark.remove()
    progress.finish()
    session.output.done(
        f"imported {progress.count} records into {topic}",
        {"topic": topic, "records": progress.count, "resumed": start > 0},
    )


class _Mark:
    """How many bytes of the file are in the topic; kept beside the file until its end."""

    def __init__(self, path: Path, topic: str) -> None:
        self._path = path.with_name(f"{path.name}.progress")
        self._topic = topic

    def read(self) -> int:
        try:
            found = json.loads(self._path.read_text())
            topic, position = str(found["topic"]), int(found["bytes"])
        except FileNotFoundError:
            return 0
        except (ValueError, KeyError, TypeError) as error:
            raise Conflict(
                what=f"{self._path} is not a note of progress",
                hint="remove it, or begin again with --restart",
            ) from error
        if topic != self._topic:
            raise Conflict(
                what=f"{self._path} belongs to an unfinished import into {topic!r}",
                hint="finish that one, or begin again with --restart",
            )
        return position

    def write(self, position: int) -> None:
        temporary = self._path.with_suffix(".new")
        temporary.write_text(json.dumps({"topic": self._topic, "bytes": position}))
        temporary.replace(self._path)

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)


def _chunks(file: IO[bytes]) -> Iterator[tuple[list[bytes], int]]:
    """Lists of lines, each with the position behind its last line."""
    chunk: list[bytes] = []
    while line := file.readline():
        chunk.append(line.removesuffix(b"\n"))
        if len(chunk) == _CHUNK:
            yield chunk, file.tell()
            chunk = []
    if chunk:
        yield chunk, file.tell()


def _parse_exact(text: bytes, place: str) -> Line:
    try:
        return parse_exact(text.decode())
    except ValueError as error:
        raise InvalidRecord(
            what=f"{place}: {error}", hint="is it a file of headwater topic export?"
        ) from error


def _parse_raw(text: bytes, _: str) -> Line:
    return Line(None, None, None, None, text, ())


def _refuse_partition(line: Line, topic: str, partitions: int) -> None:
    if line.partition is not None and not 0 <= line.partition < partitions:
        raise Conflict(
            what=f"the file has records of partition {line.partition}, "
            f"but topic {topic!r} has {partitions} partitions",
            hint=f"headwater topic alter {topic} --partitions {line.partition + 1}, "
            "or import with --repartition",
        )


def _send(producer: "Producer", topic: str, line: Line, *, keep_partition: bool) -> None:
    producer.send(
        topic,
        line.value,
        key=line.key,
        headers=line.headers,
        timestamp=line.timestamp_ms,
        partition=line.partition if keep_partition else None,
    )
