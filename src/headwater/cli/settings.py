"""Settings as flags: one flag per setting, made from the tables in `headwater.config`."""

import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from headwater.config import (
    BROKER,
    PROJECT_FILE,
    BrokerSettings,
    Family,
    Resolved,
    Settings,
    resolve_family,
)
from headwater.errors import InvalidRequest

Function = Callable[..., Any]


def settings_flags(function: Function) -> Function:
    """Give a command every setting of the broker as a flag."""
    return flags_of(BROKER)(function)


def flags_of(family: Family[Settings]) -> Callable[[Function], Function]:
    """Give a command every setting of a family as a flag."""

    def decorate(function: Function) -> Function:
        for each in reversed(fields(family.table)):
            flag = "--" + each.name.replace("_", "-")
            function = click.option(
                flag, each.name, metavar="VALUE", help=_sentence(each.metadata["meaning"])
            )(function)
        return click.option(
            "--config",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            callback=_or_project_file,
            show_default=PROJECT_FILE,
            help=f"File to read settings from, under [{family.section}].",
        )(function)

    return decorate


def _sentence(meaning: str) -> str:
    return f"{meaning[:1].upper()}{meaning[1:]}."


def _or_project_file(_ctx: click.Context, _param: click.Parameter, named: Path | None) -> Path:
    """A file that was named must exist, headwater.toml need not."""
    return named or Path(PROJECT_FILE)


def resolved(flags: dict[str, Any], config: Path) -> Resolved[BrokerSettings]:
    return with_data(resolve_family(BROKER, flags, os.environ, config))


def with_data(found: Resolved[Settings]) -> Resolved[Settings]:
    """Refuse an empty `data`: it would be the folder that the command happens to run in."""
    if not found.settings.data:
        raise InvalidRequest(
            f"data is empty (from {found.origins['data']})",
            hint="name a directory, or leave it out",
        )
    return found


def setting_rows(found: Resolved[Settings]) -> list[dict[str, Any]]:
    """Return name, value and origin of every setting, for `--print-config`."""
    return [
        {
            "setting": each.name,
            "value": _shown(getattr(found.settings, each.name), each.metadata["is_secret"]),
            "origin": found.origins[each.name],
        }
        for each in fields(found.settings)
    ]


def _shown(value: Any, is_secret: bool) -> Any:
    if is_secret and value:
        return "(not shown)"
    if isinstance(value, dict):
        return ",".join(f"{name}={each}" for name, each in value.items())
    return value
