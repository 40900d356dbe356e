"""The flags that every command takes, before or after its name: both places mean the same."""

from typing import Any

import click

_KEY = "headwater.flags"


def global_options() -> list[click.Parameter]:
    """Fresh options; each remembers its value for the whole command line."""
    return [
        _option("--profile", metavar="NAME", help="Use a profile of headwater.toml."),
        _option("--bootstrap", metavar="HOST:PORT", help="Use the broker at this address."),
        _option("--json", is_flag=True, help="Print JSON, one document per line."),
        _option("--quiet", is_flag=True, help="Print results only, no messages."),
        _option("--yes", is_flag=True, help="Do not ask before a destructive change."),
    ]


def flags_of(ctx: click.Context) -> dict[str, Any]:
    """The flags given so far, on whichever level."""
    found = ctx.find_root().meta.setdefault(_KEY, {})
    assert isinstance(found, dict)
    return found


def _option(name: str, **attrs: Any) -> click.Option:
    return click.Option([name], expose_value=False, callback=_remember, **attrs)


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if value == "":
        # A shell variable that is not set: another broker than the one that was meant would answer.
        raise click.BadParameter("it is empty; is a variable of the shell not set?", ctx, param)
    if value:
        flags_of(ctx)[str(param.name)] = value
