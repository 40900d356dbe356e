"""Spark's own daemon, which forks the Python workers, without its tracebacks for a Spark that hung up."""

import socket

from pyspark import daemon

_work = daemon.worker


def worker(sock: socket.socket, authenticated: bool) -> int:
    try:
        return _work(sock, authenticated)
    except (BrokenPipeError, ConnectionResetError):
        return 1  # a query ended and nobody waits for the answer any more


daemon.worker = worker

if __name__ == "__main__":
    daemon.manager()
