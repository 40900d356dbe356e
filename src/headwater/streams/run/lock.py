"""One run of a pipeline at a time: two would take turns at its checkpoints, and each stop the other."""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headwater.errors import Conflict, StorageFailed


@contextmanager
def alone(lock: Path, pipeline: str) -> Iterator[None]:
    """Raises `Conflict` while another process is in here; one that was killed is not."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            raise Conflict(
                f"the pipeline {pipeline!r} runs already: {file.read() or 'elsewhere'}",
                hint="stop that run first, or give this one a state of its own, by a profile",
            ) from error
        except OSError as error:
            raise StorageFailed(
                f"{lock} cannot be locked: {error.strerror}",
                hint="keep the state of pipelines where files can be locked",
            ) from error
        # Else what a user's file forks would hold it after this process was killed.
        os.register_at_fork(after_in_child=file.close)
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
        yield
