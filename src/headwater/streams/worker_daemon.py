"""Spark's own daemon, which forks the Python workers, made quieter and quicker.

No traceback for a Spark that hung up; and what a worker has imported is not looked through for garbage
after each task, which keeps the next one waiting.
"""

import gc
import socket

from pyspark import daemon

_work = daemon.worker


def worker(sock: socket.socket, authenticated: bool) -> int:
    try:
        return _work(sock, authenticated)
    except (BrokenPipeError, ConnectionResetError):
        return 1  # a query ended and nobody waits for the answer any more
    finally:
        _keep_what_is_there()


def _keep_what_is_there() -> None:
    """After the first task all modules are there: from now on they are no candidates for garbage."""
    if not gc.get_freeze_count():
        gc.collect()
        gc.freeze()


daemon.worker = worker

if __name__ == "__main__":
    daemon.manager()
