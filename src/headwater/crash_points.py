"""Places where a test may let a process die: what a crash leaves is proven at each of them.

`HEADWATER_CRASH_POINTS` names a file that holds the name of a point. The first process that reaches it
takes the file away and dies as by `kill -9`; whoever takes over lives on.
"""

import os
import signal
from pathlib import Path
from typing import Final

VARIABLE: Final = "HEADWATER_CRASH_POINTS"


def reached(point: str) -> None:
    """Die here if a test asks for it."""
    named = os.environ.get(VARIABLE)
    if named is None:
        return
    file = Path(named)
    try:
        is_here = file.read_text() == point
        if is_here:
            file.unlink()
    except FileNotFoundError:
        return
    if is_here:
        os.kill(os.getpid(), signal.SIGKILL)
