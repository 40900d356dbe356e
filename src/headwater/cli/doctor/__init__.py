"""`headwater doctor`: one line per check, with the fix for what is wrong."""

from dataclasses import asdict

import click

from headwater.cli import exit_codes
from headwater.cli.command import command as headwater_command
from headwater.cli.doctor.checks import MACHINE_CHECKS, check_broker
from headwater.cli.session import Session


@headwater_command(
    "doctor",
    examples=("headwater doctor", "headwater doctor --profile prod", "headwater doctor --json"),
)
def command(session: Session) -> None:
    """Check this machine and the broker, with the fix for what is wrong.

    The exit code is 1 when something fails; a warning does not fail.
    """
    findings = [check() for check in MACHINE_CHECKS]
    findings.append(check_broker(session))
    session.output.rows(("check", "state", "detail", "fix"), (asdict(found) for found in findings))
    if any(found.state == "fail" for found in findings):
        raise click.exceptions.Exit(exit_codes.FAILED)
