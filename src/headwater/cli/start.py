"""The first thing that runs. Until the command line is loaded, Ctrl-C ends the process without a word.

It imports nothing that takes time: in a loop of a shell most commands are interrupted while they load.
"""

import signal


def main() -> None:
    """Load the command line and run it."""
    is_heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_heard:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from headwater.cli.main import main as run_command_line  # noqa: PLC0415  not before

    if is_heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run_command_line()
