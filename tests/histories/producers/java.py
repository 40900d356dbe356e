"""Transactions with the Java client, in a process of its own that is told what to do line by line."""

import subprocess
import sys
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer

from histories.history import Partition
from histories.producers import Offsets
from rigs.apache_kafka import kafka_libs
from rigs.maven import compiled
from rigs.process import Unavailable

SOURCE: Final = Path(__file__).parents[1] / "java" / "TransactionalProducer.java"


class JavaError(Exception):
    """An exception of the Java client; `is_fatal` as its documentation says."""

    def __init__(self, answer: str) -> None:
        super().__init__(answer)
        self.is_fatal = answer.startswith("fatal")


class Producer:
    errors: type[Exception] = JavaError

    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int) -> None:
        options = [
            "-XX:TieredStopAtLevel=1",
            "-Xmx128m",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
        ]
        program = [*options, "-cp", compiled(SOURCE, kafka_libs()), SOURCE.stem]
        self._process = subprocess.Popen(
            ["java", *program, bootstrap, transactional_id, str(timeout_ms)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=sys.stderr,
            text=True,
        )

    def start(self) -> None:
        self._do("start")

    def begin(self) -> None:
        self._do("begin")

    def append(self, partition: Partition, value: str) -> None:
        self._do(f"append {partition[0]} {partition[1]} {value}")

    def send_offsets(self, consumer: Consumer, group: str, offsets: Offsets) -> None:
        del consumer
        places = " ".join(f"{topic} {index} {offset}" for (topic, index), offset in offsets.items())
        self._do(f"offsets {group} {places}")

    def commit(self) -> None:
        self._do("commit")

    def abort(self) -> None:
        self._do("abort")

    def can_abort(self, error: Exception) -> bool:
        return isinstance(error, JavaError) and not error.is_fatal

    def _do(self, command: str) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        if answer != "ok":
            raise JavaError(answer)


def is_java_here() -> bool:
    try:
        compiled(SOURCE, kafka_libs())
    except Unavailable:
        return False
    return True
