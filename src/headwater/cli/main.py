"""`headwater`: the root of the command line, and the one place where its errors end.

No stack trace reaches a user for what Headwater expects: an error is a sentence and a hint.
"""

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

import click

from headwater.cli import exit_codes
from headwater.cli.lazy import LazyGroup
from headwater.cli.streams import (
    discard_output,
    occupy_closed_descriptors,
    refuse_closed_output,
    sentence_of,
)
from headwater.errors import HeadwaterError

# One line per command; its file is cli/NAME.py (or the package cli/NAME/), see lazy.py.
COMMANDS = {
    "init": "Make a folder with a pipeline, events to feed it and tests that pass",
    "dev": "Run a broker for this folder",
    "serve": "Run a broker",
    "topic": "Create, read, write and change topics",
    "group": "See how far consumer groups are, and move them",
    "pipeline": "Run pipelines on Spark and see how they do",
    "view": "Ask, query and watch views, and serve them",
    "log": "Look at the files of a broker, offline",
    "status": "Show the broker, its topics and how far behind its readers are",
    "doctor": "Check this machine and the broker, with the fix for what is wrong",
    "bench": "Measure how fast a broker stores and serves records",
}

_HELP = """Headwater: a durable log that speaks Kafka's protocol.

Works on the broker of this folder, or on any Kafka: --bootstrap host:port, --profile NAME.

\b
Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 unreachable, 5 refused (conflict).
Completion: eval "$(_HEADWATER_COMPLETE=bash_source headwater)", or zsh_source, fish_source.
"""

root = LazyGroup("headwater", package="headwater.cli", summaries=COMMANDS, help=_HELP)
root = click.version_option(package_name="headwater", prog_name="headwater")(root)


class Terminated(KeyboardInterrupt):
    """SIGTERM: a command ends as after Ctrl-C. It leaves its group, and removes what is only its own."""


def main() -> None:
    """Run the command line of this process and exit with its code."""
    if "_HEADWATER_COMPLETE" in os.environ:
        root.main(prog_name="headwater", complete_var="_HEADWATER_COMPLETE")
    occupy_closed_descriptors()
    signal.signal(signal.SIGTERM, _terminate)
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; errors are printed to stderr."""
    try:
        refuse_closed_output()
        code = _invoke(arguments)
        sys.stdout.flush()
    except click.ClickException as error:
        _print_error(error.format_message().rstrip("."), _usage_hint(error))
        return error.exit_code
    except HeadwaterError as error:
        _print_error(error.what, error.hint)
        return exit_codes.exit_code_of(error)
    except (KeyboardInterrupt, click.Abort) as stop:
        return exit_codes.TERMINATED if isinstance(stop, Terminated) else exit_codes.INTERRUPTED
    except OverflowError:
        _print_error("a number is too large", "offsets and times have 63 bits, most counts 31")
        return exit_codes.USAGE
    except UnicodeEncodeError as error:
        text = error.object[error.start : error.end]
        _print_error(f"{text!r} cannot be written in {error.encoding}", "try with LC_ALL=C.UTF-8")
        return exit_codes.FAILED
    except BrokenPipeError:
        # The reader (`| head -1`) has had enough.
        discard_output()
        return exit_codes.OK
    except OSError as error:
        sentence = sentence_of(error)
        if sentence is None:
            raise
        _print_error(*sentence)
        return exit_codes.FAILED
    return code


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    raise Terminated


def _invoke(arguments: Sequence[str]) -> int:
    try:
        with root.make_context("headwater", list(arguments)) as ctx:
            root.invoke(ctx)
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    return exit_codes.OK


def _usage_hint(error: click.ClickException) -> str:
    ctx = getattr(error, "ctx", None)
    return f"see: {ctx.command_path} --help" if ctx else ""


def _print_error(what: str, hint: str) -> None:
    if sys.stdout is not None:
        try:
            sys.stdout.flush()
        except OSError:
            discard_output()
    first = what[:1].lower() + what[1:] if what[1:2].islower() else what
    sys.stderr.write(f"error: {first}\n")
    if hint:
        sys.stderr.write(f"hint: {hint}\n")
