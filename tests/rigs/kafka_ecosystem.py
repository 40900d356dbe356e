"""Kafka Streams and Kafka Connect, from Maven."""

from pathlib import Path

from rigs.apache_kafka import VERSION
from rigs.maven import jars

LOGGING = ("org.slf4j", "slf4j-simple", "1.7.36")


def streams_libs() -> Path:
    return jars(
        f"kafka-streams-{VERSION}", (("org.apache.kafka", "kafka-streams", VERSION), LOGGING)
    )


def connect_libs() -> Path:
    """The worker, and the connectors that read and write files."""
    return jars(
        f"kafka-connect-{VERSION}",
        (
            ("org.apache.kafka", "connect-runtime", VERSION),
            ("org.apache.kafka", "connect-file", VERSION),
            LOGGING,
        ),
    )
