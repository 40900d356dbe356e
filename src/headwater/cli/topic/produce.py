"""`headwater topic produce`."""

import os
from collections import deque
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.global_flags import is_text
from headwater.cli.output import Output
from headwater.cli.pairs import split_pair
from headwater.cli.session import Session
from headwater.cli.streams import standard_input
from headwater.cli.suggestions import require_topic

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
    records: Iterator[_Pair] = iter([(None, None)]) if tombstone else _read(values, key_separator)
    with session.connect() as client:
        if create and topic not in client.admin.topics.names():
            client.admin.topics.create(topic)
        require_topic(client, topic, to_write=True)
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
            _print_receipts(session.output, _in_order(deliveries))


def _header(text: str) -> tuple[str, bytes]:
    name, value = split_pair(text)
    if not is_text(name):
        raise click.UsageError(f"the name of the header {text!r} is not text in UTF-8")
    return name, os.fsencode(value)


def _in_order(deliveries: Iterator["Delivery"]) -> Iterator["Receipt"]:
    """Receipts in the order of sending, each as soon as it is there; at most a window is kept."""
    waiting: deque[Delivery] = deque()
    for delivery in deliveries:
        waiting.append(delivery)
        while waiting and (waiting[0].done or len(waiting) > _WINDOW):
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


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
    for text in map(os.fsencode, values) if values else _lines(standard_input()):
        if separator is None:
            yield None, text
            continue
        key, found, value = text.partition(separator)
        if not found:
            raise click.UsageError(f"no {key_separator!r} in the line {text[:80]!r}")
        yield key, value


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    return (line.removesuffix(b"\n") for line in file)
