"""What somebody else on this machine has already: a port, or the lock of a folder."""

import fcntl
import socket
from pathlib import Path

from headwater.config import split_address


def why_not(address: str) -> str:
    """Why nobody can listen on an address just now; empty if one can."""
    host, port = split_address(address)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return ""


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
