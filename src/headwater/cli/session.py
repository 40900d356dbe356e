"""What a command needs from the outside: the connection that the flags name, and where to print."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

import headwater
from headwater.cli.global_flags import flags_of
from headwater.cli.output import Output
from headwater.errors import InvalidRequest

if TYPE_CHECKING:
    from headwater.cli.profile import Profile
    from headwater.client import Client, Views
    from headwater.client.connection import Options


@dataclass(frozen=True, slots=True)
class Session:
    output: Output
    profile: str | None = None
    bootstrap: str | None = None
    has_consent: bool = False
    """`--yes` was given: do not ask."""

    @classmethod
    def of(cls, ctx: click.Context) -> "Session":
        flags = flags_of(ctx)
        return cls(
            output=Output(is_json=flags.get("json", False), is_quiet=flags.get("quiet", False)),
            profile=flags.get("profile"),
            bootstrap=flags.get("bootstrap"),
            has_consent=flags.get("yes", False),
        )

    def connect(self) -> "Client":
        """The broker of `--bootstrap`, else of `--profile`, else of this folder.

        With both, the address is that of `--bootstrap` and all else that of the profile.
        """
        address, options = self._broker()
        return headwater.connect(address, options=options)

    def connect_later(self) -> "Client":
        """The same, for who can wait until it is there."""
        from headwater.client.client import client_for  # noqa: PLC0415  loads librdkafka

        address, options = self._broker()
        return client_for(address, options=options)

    def _broker(self) -> "tuple[str | None, Options | None]":
        if self.profile is None:
            return self.bootstrap, None
        profile = self.chosen_profile()
        return self.bootstrap or profile.kafka, profile.options

    def chosen_profile(self) -> "Profile":
        from headwater.cli.profile import find_profile  # noqa: PLC0415  reads TOML only when asked

        return find_profile(self.profile or "local")

    def views(self, url: str | None) -> "Views":
        """The server of views at `url`, else of `--profile`, else of this folder."""
        from headwater.client.view import Views  # noqa: PLC0415  only commands on views pay for it
        from headwater.client.view_address import find_view_address  # noqa: PLC0415

        if url is None and self.profile is not None:
            url = self.chosen_profile().views
        return Views(find_view_address(url))

    def ask(self, question: str) -> None:
        """Go on only with consent: `--yes`, or a person at the terminal who says so."""
        if self.has_consent:
            return
        if not self.output.is_interactive:
            raise InvalidRequest(
                what="this changes or removes data, and there is no terminal to ask at",
                hint="look at the plan above, then add --yes",
            )
        if not click.confirm(question, default=False, err=True):
            click.echo("nothing was changed", err=True)
            raise click.exceptions.Exit(1)
