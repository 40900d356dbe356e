"""A command of ours: the global flags, examples in its help, the session as its argument."""

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import click

from headwater.cli.global_flags import global_options, refuse_bytes
from headwater.cli.session import Session


class Command(click.Command):
    """`examples` are printed below the options, as they are typed; `raw` parameters may be any bytes."""

    def __init__(
        self, *args: Any, examples: tuple[str, ...], raw: tuple[str, ...], **attrs: Any
    ) -> None:
        super().__init__(*args, **attrs)
        self.examples = examples
        self.raw = raw
        self.params = [*self.params, *global_options()]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        for param in self.params:
            if param.type is click.STRING and param.name not in self.raw:
                refuse_bytes(ctx, param, ctx.params.get(str(param.name)))
        return rest

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")


def command(
    name: str,
    *,
    examples: tuple[str, ...],
    epilog: str | None = None,
    raw: tuple[str, ...] = (),
) -> Callable[[Callable[..., Any]], Command]:
    """Make a function a command; its first argument is the session."""

    def wrap(function: Callable[..., Any]) -> Command:
        @click.pass_context
        def with_session(ctx: click.Context, *args: Any, **kwargs: Any) -> Any:
            return function(Session.of(ctx), *args, **kwargs)

        attrs: dict[str, Any] = {"examples": examples, "epilog": epilog, "raw": raw}
        made = click.command(name, cls=Command, **attrs)(update_wrapper(with_session, function))
        assert isinstance(made, Command)
        return made

    return wrap
