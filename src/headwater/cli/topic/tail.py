"""`headwater topic tail`."""

import sys
from collections.abc import Callable

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.output import Output, tab_free
from headwater.cli.record_time import iso_time, time_of_day
from headwater.cli.session import Session
from headwater.cli.suggestions import require_topic
from headwater.cli.template import parse_template
from headwater.client.record import Record
from headwater.client.record_filter import parse_record_filter
from headwater.client.record_json import as_json, readable

Printer = Callable[[Record], bytes]

_HEADER = ("topic", "partition", "offset", "timestamp", "key", "value")
_GRAMMAR = """\b
POSITION, from and until:
  start end       the ends of the topic        10:20      from 10 until 20 (exclusive)
  47              an exact offset              :end       from the start until now
  +2 -3           after the start, before end  @-1h:@-30m by time; also @09:00, @2026-09-01T10:00Z
                                               @:-5m      from the start until that long ago

\b
Templates: %k key, %v value, %o offset, %p partition, %t topic, %d time (ms), %D time (ISO),
%h headers, %K %V sizes, %% and the escapes \\n \\t \\r \\0 \\\\."""


@headwater_command(
    "tail",
    epilog=_GRAMMAR,
    examples=(
        "headwater topic tail orders",
        "headwater topic tail orders -o @-15m:end --where 'value.total > 100' --json",
        "headwater topic tail orders -o start -n 10 -f '%p/%o %k %v\\n'",
    ),
)
@click.argument("topics", nargs=-1, required=True)
@click.option("-o", "--offset", metavar="POSITION", help="Where to start, and end (default: -10).")
@click.option("-n", "--count", type=click.IntRange(min=1), help="Stop after this many records.")
@click.option("-p", "--partition", "partitions", multiple=True, type=int, help="Only this one.")
@click.option("--where", "expression", metavar="EXPR", help="Only records that match.")
@click.option("-f", "--format", "template", metavar="TEMPLATE", help="How to print a record.")
@click.option("--group", help="Read as this group: its position moves on.")
def command(  # noqa: PLR0913  one argument per option
    session: Session,
    *,
    topics: tuple[str, ...],
    offset: str | None,
    count: int | None,
    partitions: tuple[int, ...],
    expression: str | None,
    template: str | None,
    group: str | None,
) -> None:
    """Read records as they arrive, or a range of them.

    Starts ten records before the end of each partition and follows; Ctrl-C stops.
    """
    if "" in (offset, expression, template, group):
        raise click.UsageError("an option is empty; is a variable of the shell not set?")
    matches = parse_record_filter(expression) if expression else lambda _: True
    printer = parse_template(template) if template else _printer(session.output)
    with session.connect() as client:
        for topic in topics:
            require_topic(client, topic)
        with client.consumer(
            *topics,
            group=group,
            start=offset or ("start" if group else "-10"),
            partitions=partitions or None,
            value_format="bytes",
        ) as records:
            if printer is _tab_separated:
                _write(("\t".join(_HEADER) + "\n").encode())
            left = count
            # A group's position must not pass what was printed, so with -n it goes in single steps.
            step = 1 if group and count else 500
            for batch in records.batches(max_records=step, max_wait_s=0.1):
                found = [record for record in batch if matches(record)][:left]
                _write(b"".join(printer(record) for record in found))
                if left is not None:
                    left -= len(found)
                    if left <= 0:
                        records.commit()
                        return


def _write(printed: bytes) -> None:
    sys.stdout.buffer.write(printed)
    sys.stdout.buffer.flush()


def _printer(output: Output) -> Printer:
    if output.is_json:
        return lambda record: f"{as_json(readable(record))}\n".encode()
    return _for_people if output.is_terminal else _tab_separated


def _for_people(record: Record) -> bytes:
    """A terminal obeys escape sequences; a record must not, so they are shown, not sent."""
    place = f"{record.topic}/{record.partition} {record.offset} {time_of_day(record)}"
    return f"{place}  {_shown(record.key_bytes)}  {_shown(record.raw_value)}\n".encode()


def _shown(raw: bytes | None) -> str:
    if raw is None:
        return "-"
    text = raw.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _tab_separated(record: Record) -> bytes:
    fields = (
        record.topic,
        record.partition,
        record.offset,
        iso_time(record),
        None if record.key_bytes is None else record.key_bytes.decode("utf-8", "backslashreplace"),
        None if record.raw_value is None else record.raw_value.decode("utf-8", "backslashreplace"),
    )
    return ("\t".join(tab_free(field) for field in fields) + "\n").encode()
