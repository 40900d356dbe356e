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


def refuse_bytes(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Names are text; librdkafka's binding ends the process over some that are not."""
    for text in value if isinstance(value, tuple) else (value,):
        if not is_text(str(text)):
            raise click.BadParameter(f"{text!r} is not text in UTF-8", ctx, param)


def is_text(argument: str) -> bool:
    """Bytes that are not UTF-8 arrive as halves of surrogate pairs."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    refuse_bytes(ctx, param, value)
    if value == "":
        # A shell variable that is not set: another broker than the one that was meant would answer.
        raise click.BadParameter("it is empty; is a variable of the shell not set?", ctx, param)
    if value:
        flags_of(ctx)[str(param.name)] = value
