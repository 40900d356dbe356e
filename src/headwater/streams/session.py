"""The Spark session: settings that suit streams, Java found or asked for, our source and sink known."""

import contextlib
import logging
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from headwater.errors import Unavailable
from headwater.streams.java import use_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOGS: Final = Path(__file__).with_name("log4j2.properties")
JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

PRESET: Final[Mapping[str, str]] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Queries share one application: none waits for the tasks of another.
    "spark.scheduler.mode": "FAIR",
    # A task that runs twice writes once, but costs twice.
    "spark.speculation": "false",
    "spark.sql.session.timeZone": "UTC",
    # Many small rows at a time, but of large ones no more than a cache holds.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(4 << 20),
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.daemon.module": "headwater.streams.worker_daemon",
    # State on disk, and per batch only what changed: it outgrows memory and restarts quickly.
    "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Counting rows costs a read for every write.
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    "spark.sql.streaming.minBatchesToRetain": "10",
}
FILES: Final = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
LOCAL: Final[Mapping[str, str]] = {
    # The default one starts a program (readlink) for each file that it looks at: ten in every batch.
    "spark.sql.streaming.checkpointFileManagerClass": FILES,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
    "spark.driver.memory": "1g",
}


def open_session(
    name: str, *, master: str = "local[*]", conf: Mapping[str, str] | None = None
) -> "SparkSession":
    """Start Spark, or join the session of this process; `conf` wins over our settings."""
    use_java()
    if master.startswith("local"):
        # Spark would look for another Python on the path, without our packages.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession  # noqa: PLC0415  pyspark takes a second to import

    from headwater.streams.register import register  # noqa: PLC0415

    builder = SparkSession.builder.appName(name).master(master)
    is_local = master.startswith("local")
    settings = {**PRESET, **(LOCAL if is_local else {}), **(conf or {})}
    for key, value in settings.items():
        builder = builder.config(key, value)
    java_options = f"-Dlog4j2.configurationFile={LOGS.as_uri()} {settings.get(JAVA_OPTIONS, '')}"
    builder = builder.config(JAVA_OPTIONS, java_options.strip())
    session = _started(builder, master)
    # Its errors reach us as exceptions; on the terminal they would be pages of Java.
    for each in ("DataFrameQueryContextLogger", "SQLQueryContextLogger", "py4j.clientserver"):
        logging.getLogger(each).disabled = True
    logging.getLogger().addFilter(_is_not_of_a_lost_jvm)
    _silence_accumulators(session)
    register(session)
    return session


def _started(builder: "SparkSession.Builder", master: str) -> "SparkSession":
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415
    from pyspark.errors import PySparkRuntimeError  # noqa: PLC0415

    try:
        return builder.getOrCreate()
    except PySparkRuntimeError as error:
        if error.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        raise Unavailable(
            "Spark did not start: its Java ended before it could be reached",
            hint="has this machine the memory that spark.driver.memory asks for? see: headwater doctor",
        ) from error
    except Py4JJavaError as error:
        reason = str(error.java_exception).partition("\n")[0]
        raise Unavailable(
            f"Spark at {master!r} did not start: {reason}",
            hint="does its master run, and do its workers have cores and memory left?",
        ) from error


def has_ended(session: "SparkSession", within_s: float = 0) -> bool:
    """Whether the JVM behind a session is gone: killed, or out of memory."""
    process = getattr(session.sparkContext._gateway, "proc", None)  # noqa: SLF001
    if process is None:
        return False
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(within_s)
    return process.poll() is not None


def close_session(session: "SparkSession") -> None:
    """Stop Spark; its own programs, which are told to end, do not complain that the others hung up."""
    from py4j.protocol import Py4JError  # noqa: PLC0415

    if has_ended(session):
        return
    jvm = session._jvm  # noqa: SLF001
    assert jvm is not None
    with contextlib.suppress(Py4JError, OSError):  # of a Spark that ends at the same moment
        jvm.java.lang.System.err.close()  # where its Python daemons print, too
        session.stop()


def _is_not_of_a_lost_jvm(record: logging.LogRecord) -> bool:
    """py4j tells the root logger, with its stack, what it raises as well."""
    return (record.module, record.funcName) != ("java_gateway", "send_command")


def _silence_accumulators(session: "SparkSession") -> None:
    accumulators: Any = session.sparkContext._accumulatorServer  # noqa: SLF001
    accumulators.handle_error = lambda *_: None


def use_in_this_thread(session: "SparkSession") -> None:
    """Spark looks up our source and sink in the session of the thread that starts a query."""
    jvm = session._jvm  # noqa: SLF001
    assert jvm is not None
    sessions = jvm.org.apache.spark.sql.classic.SparkSession
    sessions.setActiveSession(session._jsparkSession)  # noqa: SLF001
