"""The real Apache Kafka, one KRaft node, from the jars on Maven Central."""

import tempfile
from pathlib import Path
from typing import Final, Self

from rigs.maven import Artifact, jars, run
from rigs.process import BrokerProcess, free_port

VERSION: Final = "4.3.1"
CLUSTER_ID: Final = "headwater-conformance0"

ARTIFACTS: Final[tuple[Artifact, ...]] = (
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
        run([*java, "kafka.tools.StorageTool", *storage])
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


def kafka_libs() -> Path:
    """The directory with Kafka's jars, fetched through Maven when they are not there yet."""
    return jars(f"kafka-{VERSION}", ARTIFACTS)
