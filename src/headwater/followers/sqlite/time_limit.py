"""An end to what a connection does, in time.

By an interrupt, which SQLite looks for between two rows, and not by a progress handler: that looks only
every so many steps, each of which may be a function over a large value, and takes Python's lock to look.
"""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_AGAIN_S: Final = 0.05


@contextmanager
def until(deadline_s: float, db: sqlite3.Connection) -> Iterator[None]:
    """From this moment of the monotonic clock on, statements fail; see `is_interrupt`."""
    is_done = threading.Event()

    def interrupt() -> None:
        is_done.wait(max(0.0, deadline_s - time.monotonic()))
        while not is_done.is_set():
            db.interrupt()
            is_done.wait(
                _AGAIN_S
            )  # it stops only what is running: the next statement may just begin

    watching = threading.Thread(target=interrupt, name="headwater-time-limit", daemon=True)
    watching.start()
    try:
        yield
    finally:
        is_done.set()
        watching.join()


def is_interrupt(error: Exception) -> bool:
    return getattr(error, "sqlite_errorname", "") == "SQLITE_INTERRUPT"
