"""`--wait-for`: read your own writes."""

import json
from collections.abc import Callable
from typing import Any

import click

from headwater.client.record import Receipt
from headwater.errors import InvalidRequest


def waiting_options(function: Callable[..., Any]) -> Callable[..., Any]:
    function = click.option(
        "--timeout",
        "timeout_s",
        type=click.FloatRange(min=0),
        default=5.0,
        show_default=True,
        metavar="SECONDS",
        help="How long to wait for it.",
    )(function)
    return click.option(
        "--wait-for",
        callback=_parse,
        metavar="RECEIPT",
        help="Answer once the view has this record: TOPIC/PARTITION/OFFSET, or a line that "
        "headwater topic produce --json has printed.",
    )(function)


def _parse(_ctx: click.Context, _param: click.Parameter, text: str | None) -> Receipt | None:
    if text is None:
        return None
    try:
        if text.lstrip().startswith("{"):
            content = json.loads(text)
            topic, partition, offset = (content[each] for each in ("topic", "partition", "offset"))
        else:
            topic, partition, offset = text.rsplit("/", 2)
        return Receipt(str(topic), int(partition), int(offset), 0)
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidRequest(
            f"{text!r} is not a receipt",
            hint="write TOPIC/PARTITION/OFFSET, for example orders/0/41",
        ) from error
