"""A Kafka Connect worker in distributed mode, and its REST interface."""

import json
import shutil
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Final, Self

from rigs.java_process import JavaProcess
from rigs.kafka_ecosystem import connect_libs
from rigs.process import free_port

READY_WITHIN_S: Final = 90
STRING: Final = "org.apache.kafka.connect.storage.StringConverter"


class ConnectWorker:
    """One worker, with the file connectors as its plugins. Its internal topics are named after `group`."""

    def __init__(self, bootstrap: str, group: str, directory: Path) -> None:
        self.group = group
        self.address = f"http://127.0.0.1:{free_port()}"
        libs = connect_libs()
        plugins = directory / "plugins"
        plugins.mkdir()
        for each in libs.glob("connect-file-*.jar"):
            shutil.copy(each, plugins)
        settings = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "listeners": self.address,
            "plugin.path": str(plugins),
            # The plugins name themselves: there is no need to look through every jar for them.
            "plugin.discovery": "service_load",
            "key.converter": STRING,
            "value.converter": STRING,
            **{
                f"{each}.storage.topic": f"{group}-{each}"
                for each in ("config", "offset", "status")
            },
            **{
                f"{each}.storage.replication.factor": "1" for each in ("config", "offset", "status")
            },
            "exactly.once.source.support": "enabled",
            "offset.flush.interval.ms": "500",
            # A worker that was killed is missed sooner, and its work is given away at once.
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "500",
            "scheduled.rebalance.max.delay.ms": "0",
        }
        properties = directory / "worker.properties"
        properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        program = ["org.apache.kafka.connect.cli.ConnectDistributed", str(properties)]
        self.process = JavaProcess(f"{libs}/*", program, directory / "worker.log")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()

    def start(self) -> None:
        """Start it and wait until it knows its connectors."""
        self.process.start()
        deadline = time.monotonic() + READY_WITHIN_S
        while not self._is_ready():
            self.process.check()
            assert time.monotonic() < deadline, "the worker did not answer in time"
            time.sleep(0.05)  # Its port is not open yet: there is nothing that could wake us.

    def kill(self) -> None:
        self.process.kill()

    def create(self, name: str, config: dict[str, str]) -> None:
        self._call("POST", "/connectors", {"name": name, "config": config})

    def status(self, name: str) -> Any:
        return self._call("GET", f"/connectors/{name}/status")

    def _is_ready(self) -> bool:
        try:
            self._call("GET", "/connectors")
        except urllib.error.URLError:
            return False
        return True

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            f"{self.address}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=READY_WITHIN_S) as answer:
            return json.load(answer)
