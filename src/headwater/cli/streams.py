"""The standard streams, which whoever started us may have closed, or pointed at a full disk.

Python has None for a stream that was closed before it started.
"""

import errno
import os
import sys
from typing import IO

from headwater.errors import HeadwaterError

_OF_WRITING = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}
_LAST_STANDARD = 2


def occupy_closed_descriptors() -> None:
    """Else a file of the broker would get number 2, and what a library says on stderr its bytes."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _LAST_STANDARD:
        pass
    os.close(descriptor)
    if sys.stderr is None:
        sys.stderr = os.fdopen(_LAST_STANDARD, "w")


def refuse_closed_output() -> None:
    if sys.stdout is None:
        raise HeadwaterError(
            "stdout is closed, so nothing can be printed", hint="to see nothing: > /dev/null"
        )


def standard_input() -> IO[bytes]:
    if sys.stdin is None:
        raise HeadwaterError(
            "stdin is closed, so nothing can be read from it", hint="give it a file or a pipe"
        )
    return sys.stdin.buffer


def is_terminal(stream: IO[str] | None) -> bool:
    return stream is not None and stream.isatty()


def discard_output() -> None:
    """Forget what stdout did not take; the flush at exit must not fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def sentence_of(error: OSError) -> tuple[str, str] | None:
    """What the system refused, and a hint; None if it has to do with neither a file nor the output."""
    if error.filename is not None:
        return f"cannot use {os.fsdecode(error.filename)}: {reason_of(error)}", hint_of(error)
    if error.errno in _OF_WRITING:
        return f"cannot write the output: {reason_of(error)}", hint_of(error)
    return None


def reason_of(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def hint_of(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "free some space, or write to another disk"
    return "is the place right, and may you use it?"
