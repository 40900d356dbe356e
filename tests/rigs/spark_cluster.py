"""A Spark standalone cluster, a master and its workers, from the PySpark package alone."""

import json
import shutil
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Self

from rigs.java_process import JavaProcess
from rigs.process import Unavailable, free_port

HOST: Final = "127.0.0.1"
SCALA: Final = "2.13"
"""Spark's launcher asks for it; its shell scripts would tell."""
READY_WITHIN_S: Final = 60


class SparkCluster:
    """On return from `with`, all workers are known to the master."""

    def __init__(self, directory: Path, workers: int = 2, memory: str = "1G") -> None:
        if shutil.which("java") is None:
            raise Unavailable("Spark needs Java, which is not on PATH")
        spec = find_spec("pyspark")
        assert spec is not None
        assert spec.origin is not None
        home = Path(spec.origin).parent
        port, self._page = free_port(), f"http://{HOST}:{(page := free_port())}/json/"
        self.master = f"spark://{HOST}:{port}"
        self.work = [directory / f"worker-{each}" for each in range(workers)]
        place = ["--host", HOST, "--port", str(port), "--webui-port", str(page)]
        programs = [["org.apache.spark.deploy.master.Master", *place]]
        for each in self.work:
            limits = ["--cores", "1", "--memory", memory, "--webui-port", "0"]
            worker = ["--host", HOST, *limits, "--work-dir", str(each), self.master]
            programs.append(["org.apache.spark.deploy.worker.Worker", *worker])
        self._processes = [
            JavaProcess(
                f"{home}/jars/*",
                program,
                directory / f"{number}.log",
                {"SPARK_HOME": str(home), "SPARK_SCALA_VERSION": SCALA, "SPARK_LOCAL_IP": HOST},
            )
            for number, program in enumerate(programs)
        ]
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for each in self._processes:
                stack.enter_context(each)
            self._wait_until_ready()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_WITHIN_S
        while self._known_workers() < len(self.work):
            for each in self._processes:
                each.check()
            assert time.monotonic() < deadline, "the workers did not find their master in time"
            time.sleep(0.1)  # The master's page is not there yet: nothing could wake us.

    def _known_workers(self) -> int:
        try:
            with urllib.request.urlopen(self._page, timeout=5) as answer:
                return int(json.load(answer)["aliveworkers"])
        except (urllib.error.URLError, ConnectionError, json.JSONDecodeError):
            return 0
