"""The topic whose positions are the markers of sinks; it never holds a record."""

from typing import Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from headwater.client.kafka_errors import error_of

MARKERS_TOPIC: Final = "__headwater.markers"
_TIMEOUT_S: Final = 30.0


def create_markers_topic(kafka: dict[str, str]) -> None:
    """Create it where it is missing; done by the driver, before the first task."""
    admin = AdminClient({**kafka, "log_level": 2})
    futures = admin.create_topics([NewTopic(MARKERS_TOPIC, 1)], request_timeout=_TIMEOUT_S)
    try:
        futures[MARKERS_TOPIC].result()
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise error_of(error, doing="prepare the sink") from error
