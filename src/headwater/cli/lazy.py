"""Groups that load a command only when it runs: `--help` imports no command, no client, no broker.

A command `verb` of a group in package `noun` lives in `noun/verb.py` and is called `command` there;
the one-line help is kept with the name, so adding a command is adding one line.
"""

import difflib
import keyword
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from headwater.cli.exit_codes import USAGE
from headwater.cli.global_flags import global_options


class LazyGroup(click.Group):
    def __init__(
        self, name: str, *, package: str, summaries: Mapping[str, str], **attrs: Any
    ) -> None:
        super().__init__(name, params=global_options(), **attrs)
        self._package = package
        self.summaries = summaries

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # Whoever types only the name wants to know what there is; a shell that completes it does not.
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(USAGE)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self.summaries:
            return None
        module = cmd_name + "_" * keyword.iskeyword(cmd_name)
        loaded = import_module(f"{self._package}.{module}").command
        assert isinstance(loaded, click.Command)
        return loaded

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.summaries and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], self.summaries, n=1)
            suggestion = f", did you mean {near[0]!r}?" if near else "."
            ctx.fail(f"there is no command {args[0]!r}{suggestion}")
        return super().resolve_command(ctx, args)
