"""What somebody else on this machine has already: a port, or the lock of a folder."""

import errno
import fcntl
import socket
from pathlib import Path

from headwater.config import split_address


def is_taken(address: str, name: str = "address") -> bool:
    failure = failure_to_listen(address, name)
    return failure is not None and failure.errno == errno.EADDRINUSE


def failure_to_listen(address: str, name: str = "address") -> OSError | None:
    """Why nobody could listen there just now; `name` is that of the setting."""
    host, port = split_address(address, name)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        return error
    return None


def is_locked(path: Path) -> bool:
    """Whether a process that lives holds the lock; a killed one leaves the file only."""
    try:
        with path.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
