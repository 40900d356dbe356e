"""What `headwater doctor` looks at; each check is a function that returns one finding."""

import os
import resource
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from headwater.cli.session import Session
from headwater.clock import SystemClock
from headwater.errors import HeadwaterError, Unavailable
from headwater.streams.java import use_java

_TESTED_PYTHONS = ((3, 11), (3, 12), (3, 13))
_SYNCS = 20
_SLOW_SYNC_MS = 20.0
_LOW_DISK_BYTES = 2 * 1024**3
_LOW_OPEN_FILES = 4096
_DEFAULT_PORT = 9092


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    state: Literal["ok", "warn", "fail"]
    detail: str
    fix: str = ""


def check_python() -> Finding:
    running = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] in _TESTED_PYTHONS:
        return Finding("python", "ok", running)
    return Finding("python", "warn", f"{running} is not tested", "use Python 3.11 to 3.13")


def check_librdkafka() -> Finding:
    try:
        import confluent_kafka  # noqa: PLC0415  what this check is about
    except ImportError as error:
        return Finding("librdkafka", "fail", str(error), "pip install confluent-kafka")
    return Finding("librdkafka", "ok", confluent_kafka.libversion()[0])


def check_data_folder() -> Finding:
    folder = _data_folder()
    try:
        milliseconds = _sync_time_ms(folder)
    except OSError as error:
        return Finding(
            "data folder", "fail", f"{folder}: {error.strerror}", "make it writable for this user"
        )
    detail = f"{folder}: writable, {milliseconds:.1f} ms per sync"
    if milliseconds > _SLOW_SYNC_MS:
        return Finding("data folder", "warn", detail, "acks=all waits for it: use a faster disk")
    return Finding("data folder", "ok", detail)


def check_free_disk() -> Finding:
    free = shutil.disk_usage(_data_folder()).free
    detail = f"{free / 1024**3:.1f} GiB free"
    if free < _LOW_DISK_BYTES:
        return Finding("free disk", "warn", detail, "free some space, or shorten retention.ms")
    return Finding("free disk", "ok", detail)


def check_open_files() -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < _LOW_OPEN_FILES:
        fix = f"ulimit -n {min(hard, 65536)}" if hard > soft else "raise nofile in limits.conf"
        return Finding("open files", "warn", f"limit {soft}", fix)
    return Finding("open files", "ok", f"limit {soft}")


def check_port() -> Finding:
    with socket.socket() as probe:
        # As servers do: a port whose last connections are still closing is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", _DEFAULT_PORT))
        except OSError:
            return Finding(
                "port",
                "warn",
                f"{_DEFAULT_PORT} is in use (by a broker, perhaps this folder's)",
                "choose another with: headwater serve --listen 127.0.0.1:PORT",
            )
    return Finding("port", "ok", f"{_DEFAULT_PORT} is free")


def check_java() -> Finding:
    try:
        return Finding("java", "ok", use_java())
    except Unavailable as error:
        return Finding("java", "warn", error.what, f"to run pipelines: {error.hint}")


def check_spark() -> Finding:
    try:
        return Finding("spark", "ok", f"pyspark {version('pyspark')}")
    except PackageNotFoundError:
        return Finding(
            "spark", "warn", "not installed", "to run pipelines: pip install 'headwater[spark]'"
        )


def check_broker(session: Session) -> Finding:
    """A broker that was named must be there; that of this folder may just not be started yet."""
    is_named = session.bootstrap is not None or session.profile is not None
    try:
        with session.connect() as client:
            cluster = client.admin.cluster()
            address = client.connection.address
    except HeadwaterError as error:
        return Finding("broker", "fail" if is_named else "warn", error.what, error.hint)
    detail = f"{address.bootstrap} ({address.origin}): {len(cluster.nodes)} node(s)"
    return Finding("broker", "ok", detail)


MACHINE_CHECKS: tuple[Callable[[], Finding], ...] = (
    check_python,
    check_librdkafka,
    check_data_folder,
    check_free_disk,
    check_open_files,
    check_port,
    check_java,
    check_spark,
)


def _data_folder() -> Path:
    """`.headwater` when it is there, else the folder in which it would be made."""
    folder = Path.cwd() / ".headwater"
    return folder if folder.is_dir() else folder.parent


def _sync_time_ms(folder: Path) -> float:
    clock = SystemClock()
    with tempfile.TemporaryFile(dir=folder) as file:
        started = clock.monotonic_s()
        for _ in range(_SYNCS):
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
        return (clock.monotonic_s() - started) * 1000 / _SYNCS
