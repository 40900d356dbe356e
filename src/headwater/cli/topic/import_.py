"""`headwater topic import`."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.output import Output
from headwater.cli.progress import Progress
from headwater.cli.session import Session
from headwater.cli.streams import standard_input
from headwater.cli.suggestions import require_topic
from headwater.cli.topic.import_note import Lines, Note, Place
from headwater.client.record_json import Line, parse_exact
from headwater.errors import Conflict, InvalidRecord, InvalidRequest

if TYPE_CHECKING:
    from headwater.client import Producer

_CHUNK = 1000
_STDIN = Path("-")
_TIMES = range(-(2**63), 2**63)


@headwater_command(
    "import",
    examples=(
        "headwater topic import orders-copy orders.jsonl --repartition",
        "headwater topic import notes lines.txt --format raw",
        "headwater topic export orders --profile prod | headwater topic import orders -",
    ),
)
@click.argument("topic")
@click.argument(
    "path", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
)
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
    """Write the records of a file, or of stdin (-), into a topic.

    An import that breaks off notes how far it came in FILE.progress, and the next one goes on from
    there, if the file still begins with what was imported. The lines after that note, at most 1000,
    may have been written already. What comes from a pipe is imported from its first line.
    """
    note = None if _is_stream(path) else _Keeper(session.output, path, topic)
    progress = Progress(session.output, "imported")
    parse = _parse_exact if file_format == "jsonl" else _parse_raw
    with session.connect() as client:
        require_topic(client, topic, to_write=True)
        place = note.begin(restart=restart) if note else None
        partitions = len(client.admin.topics.describe(topic).partitions)
        with _opened(path) as file, client.producer(value_format="bytes") as producer:
            lines = Lines(file)
            if place is not None:
                _resume(session.output, lines, place, path)
            for chunk in lines.chunks(_CHUNK):
                for number, text in enumerate(chunk, start=lines.count - len(chunk) + 1):
                    line = parse(text.removesuffix(b"\n"), f"{path} record {number}")
                    if not repartition:
                        _refuse_partition(line, topic, partitions)
                    _send(producer, topic, line, keep_partition=not repartition)
                producer.flush()
                progress.advance(len(chunk))
                if note and chunk[-1].endswith(b"\n"):
                    note.keep(lines.place)
    if note:
        note.end()
    progress.finish()
    session.output.done(
        f"imported {progress.count} records into {topic}",
        {"topic": topic, "records": progress.count, "resumed": place is not None},
    )


def _is_stream(path: Path) -> bool:
    """What cannot be read a second time; /dev/stdin may be a file, but not one to leave a note beside."""
    return path == _STDIN or path.is_relative_to("/dev") or not path.is_file()


def _opened(path: Path) -> AbstractContextManager[IO[bytes]]:
    return nullcontext(standard_input()) if path == _STDIN else path.open("rb")


def _resume(output: Output, lines: Lines, place: Place, path: Path) -> None:
    if not lines.skip_to(place):
        raise Conflict(
            what=f"{path} is not the file whose import broke off: the {place.lines} lines that were "
            "imported are not its first",
            hint="import it from its first line with --restart",
        )
    output.note(f"resumed at line {place.lines + 1}")


class _Keeper:
    """Keeps the note of one import, and says where that cannot be done."""

    def __init__(self, output: Output, path: Path, topic: str) -> None:
        self._output = output
        self._note = Note(path, topic)
        self._has_failed = False

    def begin(self, *, restart: bool) -> Place | None:
        """Where to go on; nothing has been written to the topic yet."""
        if restart:
            self._note.remove()
        place = self._note.read()
        if self._note.is_writable():
            return place
        if place is not None:
            raise InvalidRequest(
                f"{self._note.path} cannot be changed, so the import after this one would resume wrongly",
                hint="copy the file and its note to a place that can be written to",
            )
        self._fail()
        return None

    def keep(self, place: Place) -> None:
        if not self._has_failed and not self._note.write(place):
            self._fail()

    def end(self) -> None:
        self._note.remove()

    def _fail(self) -> None:
        self._has_failed = True
        self._output.note(
            f"cannot write {self._note.path}: should this import break off, what it has written "
            "is written again by the next"
        )


def _parse_exact(text: bytes, place: str) -> Line:
    try:
        line = parse_exact(text.decode())
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InvalidRecord(
            what=f"{place}: {error}", hint="is it a file of headwater topic export?"
        ) from error
    if line.timestamp_ms is not None and line.timestamp_ms not in _TIMES:
        raise InvalidRecord(what=f"{place}: timestamp_ms has more than 64 bits")
    return line


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
