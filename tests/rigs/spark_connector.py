"""Spark's own Kafka connector, from Maven: the set of jars that goes with the PySpark that is tested."""

from pathlib import Path
from typing import Final

from rigs.maven import Artifact, jars

# Not every jar of Spark's newest release is on Maven Central, so each is named, with nothing beside it.
ARTIFACTS: Final[tuple[Artifact, ...]] = (
    ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0"),
    ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
    ("org.apache.kafka", "kafka-clients", "4.1.1"),
    ("org.apache.commons", "commons-pool2", "2.12.0"),
)


def connector_jars() -> list[Path]:
    """What Spark's setting `spark.jars` needs for `format("kafka")`."""
    return sorted(jars("spark-kafka-connector-4.2.0", ARTIFACTS, are_alone=True).glob("*.jar"))
