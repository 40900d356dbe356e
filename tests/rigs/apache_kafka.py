"""The real Apache Kafka, one KRaft node, from the jars on Maven Central.

The jars are fetched once into a cache directory (`HEADWATER_CACHE`, or `~/.cache/headwater`).
A machine without Java, Maven or a registry gets `Unavailable` with the reason, so tests can skip.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final, Self

from rigs.process import BrokerProcess, Unavailable, free_port

VERSION: Final = "4.3.1"
# Below the time that a test may take, so that a slow registry is a reason to skip, not an error.
WITHIN_S: Final = 100
CLUSTER_ID: Final = "headwater-conformance0"

POM: Final = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>headwater</groupId><artifactId>kafka-libs</artifactId><version>1</version>
  <dependencies>{dependencies}</dependencies>
</project>
"""
ARTIFACTS: Final = (
    ("org.apache.kafka", "kafka_2.13", VERSION),
    ("org.apache.kafka", "kafka-tools", VERSION),
    # Without a binding Kafka logs nothing, and a broker that does not start could not say why.
    ("org.slf4j", "slf4j-simple", "1.7.36"),
)

SERVER_PROPERTIES: Final = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}

# What kafka-server-start.sh and kafka-run-class.sh give to the JVM.
JVM_OPTIONS: Final = (
    "-Xmx1G",
    "-Xms1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)


class ApacheKafka:
    """A single-node Apache Kafka in a temporary directory, on a free port.

    Guarantee: on return from `with` the broker has answered a request; on leaving it is gone,
    and so is its directory. `settings` are lines of server.properties.
    """

    def __init__(
        self,
        settings: dict[str, str] | None = None,
        jvm_options: tuple[str, ...] = JVM_OPTIONS,
    ) -> None:
        self.settings = settings or {}
        self.jvm_options = jvm_options
        self.port = free_port()
        self.bootstrap = f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        libs = kafka_libs()
        self._directory = tempfile.TemporaryDirectory(prefix="headwater-kafka-")
        self.directory = Path(self._directory.name)
        properties = self._write_properties()
        java = ["java", "-cp", f"{libs}/*"]
        storage = ["format", "--standalone", "-t", CLUSTER_ID, "-c", str(properties)]
        _run([*java, "kafka.tools.StorageTool", *storage])
        self.process = BrokerProcess(
            [*java, *self.jvm_options, "kafka.Kafka", str(properties)],
            self.port,
            self.directory / "server.log",
        )
        try:
            self.process.start()
        except BaseException:
            self._directory.cleanup()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        # Nobody reads the directory again: an orderly shutdown would only take time.
        self.process.kill()
        self._directory.cleanup()

    @property
    def start_seconds(self) -> float:
        return self.process.start_seconds

    def kill(self) -> None:
        self.process.kill()

    def stop(self) -> None:
        self.process.stop()

    def restart(self) -> None:
        self.process.stop()
        self.process.start()

    def _write_properties(self) -> Path:
        controller = f"127.0.0.1:{free_port()}"
        properties = {
            **SERVER_PROPERTIES,
            "listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap}",
            "controller.quorum.bootstrap.servers": controller,
            "log.dirs": str(self.directory / "data"),
            **self.settings,
        }
        path = self.directory / "server.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        return path


def cache_directory() -> Path:
    root = os.environ.get("HEADWATER_CACHE")
    return Path(root) if root else Path.home() / ".cache" / "headwater"


def kafka_libs() -> Path:
    """The directory with Kafka's jars, fetched through Maven when they are not there yet."""
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            raise Unavailable(f"Apache Kafka {VERSION} needs {program}, which is not on PATH")
    directory = cache_directory() / f"kafka-{VERSION}"
    libs = directory / "libs"
    complete = directory / "complete"
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists():
            _fetch(directory, libs)
            complete.touch()
    return libs


def _fetch(directory: Path, libs: Path) -> None:
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version></dependency>"
        for group, artifact, version in ARTIFACTS
    )
    (directory / "pom.xml").write_text(POM.format(dependencies=dependencies))
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={libs}"]
    _run(["mvn", "-q", "-B", "-f", str(directory / "pom.xml"), *goal])


def _run(command: list[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=WITHIN_S)
    except subprocess.CalledProcessError as error:
        lines = (error.stdout + error.stderr).strip().splitlines() or ["no output"]
        raise Unavailable(f"{command[0]} failed: {lines[0]}") from error
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"{command[0]} took longer than {error.timeout} s") from error
