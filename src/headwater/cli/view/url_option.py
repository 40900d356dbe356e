"""`--url`: which server of views a command asks."""

from collections.abc import Callable
from typing import Any

import click


def url_option(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--url",
        metavar="URL",
        help="Ask the server of views at this address (default: this folder's).",
    )(function)
