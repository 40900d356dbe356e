"""`NAME=VALUE` arguments."""

from collections.abc import Iterable

import click


def parse_pairs(texts: Iterable[str]) -> dict[str, str]:
    return dict(split_pair(text) for text in texts)


def split_pair(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise click.UsageError(f"{text!r} is not NAME=VALUE")
    return name, value
