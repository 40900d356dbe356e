"""The broker's settings as flags: one flag per setting, made from the table in `headwater.config`."""

import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from headwater.config import PROJECT_FILE, BrokerSettings, Resolved, resolve


def settings_flags(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command every setting of the broker as a flag."""
    for each in reversed(fields(BrokerSettings)):
        flag = "--" + each.name.replace("_", "-")
        function = click.option(
            flag, each.name, metavar="VALUE", help=each.metadata["meaning"].capitalize() + "."
        )(function)
    return click.option(
        "--config",
        type=click.Path(path_type=Path),
        default=PROJECT_FILE,
        show_default=True,
        help="File to read settings from, under [broker].",
    )(function)


def resolved(flags: dict[str, Any], config: Path) -> Resolved:
    return resolve(flags, os.environ, config)


def setting_rows(found: Resolved) -> list[dict[str, Any]]:
    """Return name, value and origin of every setting, for `--print-config`."""
    return [
        {
            "setting": each.name,
            "value": _shown(getattr(found.settings, each.name)),
            "origin": found.origins[each.name],
        }
        for each in fields(found.settings)
    ]


def _shown(value: Any) -> Any:
    if isinstance(value, dict):
        return ",".join(f"{name}={each}" for name, each in value.items())
    return value
