"""`headwater topic produce`."""

import os
import sys
from collections import deque
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.global_flags import is_text
from headwater.cli.output import Output
from headwater.cli.pairs import split_pair
from headwater.cli.session import Session
from headwater.cli.streams import is_terminal, standard_input
from headwater.cli.suggestions import require_partition, require_topic
from headwater.errors import HeadwaterError, InvalidRecord

if TYPE_CHECKING:
    from headwater.client import Delivery, Receipt

_Pair = tuple[bytes | None, bytes | None]
_WINDOW = 10_000


@headwater_command(
    "produce",
    examples=(
        """headwater topic produce orders '{"id": 7, "total": 12.5}' --key 7""",
        "headwater topic produce orders < orders.jsonl",
        "printf '7:first\\n8:second\\n' | headwater topic produce orders --key-separator :",
    ),
    raw=("values", "key", "key_separator", "headers"),
)
@click.argument("topic")
@click.argument("values", nargs=-1)
@click.option("-k", "--key", help="The key of every record.")
@click.option("-K", "--key-separator", metavar="TEXT", help="Split each line into key and value.")
@click.option("-H", "--header", "headers", multiple=True, metavar="NAME=VALUE", help="A header.")
@click.option("-p", "--partition", type=click.IntRange(min=0), help="Write to this partition.")
@click.option(
    "--timestamp", type=int, metavar="MS", help="Milliseconds since 1970, not 0 (default: now)."
)
@click.option("--tombstone", is_flag=True, help="Write a record without a value for --key.")
@click.option("--create", is_flag=True, help="Create the topic when it does not exist.")
def command(  # noqa: PLR0913  one argument per option
    session: Session,
    *,
    topic: str,
    values: tuple[str, ...],
    key: str | None,
    key_separator: str | None,
    headers: tuple[str, ...],
    partition: int | None,
    timestamp: int | None,
    tombstone: bool,
    create: bool,
) -> None:
    """Write records, from the arguments or from stdin.

    Each VALUE, or each line of stdin, is one record, written as it is. A record is durable when its
    line of output appears.
    """
    if tombstone and (values or key is None):
        raise click.UsageError("--tombstone needs --key and takes no values")
    if key is not None and key_separator is not None:
        raise click.UsageError("give --key or --key-separator, not both")
    if key_separator == "":
        raise click.UsageError("--key-separator is empty")
    pairs = [_header(text) for text in headers]
    records = iter([(None, None)]) if tombstone else _read(values, key_separator)
    # A person who types waits for the receipt of each line; a file does not wait.
    window = 0 if not values and is_terminal(sys.stdin) else _WINDOW
    with session.connect() as client:
        if create and topic not in client.admin.topics.names():
            client.admin.topics.create(topic)
        require_topic(client, topic, to_write=True)
        if partition is not None:
            require_partition(client, topic, partition)
        with client.producer(value_format="bytes") as producer:
            deliveries = (
                producer.send(
                    topic,
                    value,
                    key=line_key if line_key is not None else key,
                    headers=pairs,
                    timestamp=timestamp,
                    partition=partition,
                )
                for line_key, value in records
            )
            _print_receipts(session.output, _in_order(deliveries, window))


def _header(text: str) -> tuple[str, bytes]:
    name, value = split_pair(text)
    if not is_text(name):
        raise click.UsageError(f"the name of the header {text!r} is not text in UTF-8")
    return name, os.fsencode(value)


def _in_order(deliveries: Iterator["Delivery"], window: int) -> Iterator["Receipt"]:
    """Receipts in the order of sending, each as soon as it is there; at most a window is kept.

    Also when a line cannot be sent, or a record not be stored: what was stored is told before that.
    """
    waiting: deque[Delivery] = deque()
    failure: HeadwaterError | None = None
    try:
        for delivery in deliveries:
            waiting.append(delivery)
            while waiting and (waiting[0].done or len(waiting) > window):
                yield waiting.popleft().result()
    except HeadwaterError as error:
        failure = error
    for delivery in waiting:
        try:
            yield delivery.result()
        except HeadwaterError as error:
            failure = failure or error
    if failure is not None:
        raise failure


def _print_receipts(output: Output, receipts: Iterator["Receipt"]) -> None:
    if output.is_terminal and not output.is_json:
        for receipt in receipts:
            output.line(f"{receipt.topic}/{receipt.partition} offset {receipt.offset}")
        return
    columns = ("topic", "partition", "offset", "timestamp_ms")
    output.rows(
        columns, ({name: getattr(receipt, name) for name in columns} for receipt in receipts)
    )


def _read(values: tuple[str, ...], key_separator: str | None) -> Iterator[_Pair]:
    separator = os.fsencode(key_separator) if key_separator else None
    if values:  # all of them are looked at before the first one is sent
        return iter([_split(text, separator, "value") for text in map(os.fsencode, values)])
    lines = enumerate(_lines(standard_input()), start=1)
    return (_split(line, separator, f"line {number}") for number, line in lines)


def _split(text: bytes, separator: bytes | None, where: str) -> _Pair:
    if separator is None:
        return None, text
    key, found, value = text.partition(separator)
    if not found:
        raise InvalidRecord(
            what=f"no {os.fsdecode(separator)!r} between key and value in {where}: {text[:80]!r}",
            hint="the records before it were written" if where != "value" else "",
        )
    return key, value


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    return (line.removesuffix(b"\n") for line in file)
