"""Topic configs: what Kafka accepts is accepted, the rest is refused by name, and logs obey."""

import pytest

from broker.calls import create_topic, set_configs
from conformance.raw import Connection
from headwater.broker.config_changes import APPEND, DELETE, SET, SUBTRACT
from headwater.broker.topic_configs import TOPIC_CONFIGS, check_config, log_settings
from headwater.errors import InvalidRequest
from headwater.testing import Broker


@pytest.mark.parametrize("name", TOPIC_CONFIGS)
def test_every_default_is_valid_and_explained(name: str) -> None:
    check_config(name, TOPIC_CONFIGS[name].default)
    assert TOPIC_CONFIGS[name].meaning.endswith(".")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cleanup.policy", "compact"),
        ("cleanup.policy", "compact,delete"),
        ("cleanup.policy", "compact, delete"),
        ("min.cleanable.dirty.ratio", "1e-1"),
        ("retention.ms", "-1"),
        ("retention.ms", " 1000 "),
        ("max.message.bytes", "0"),
        ("min.cleanable.dirty.ratio", "0"),
        ("min.cleanable.dirty.ratio", "1.0"),
        ("compression.type", "producer"),
        ("segment.bytes", str(1024 * 1024)),
        ("flush.ms", str(2**63 - 1)),
    ],
)
def test_good_values(name: str, value: str) -> None:
    check_config(name, value)
    log_settings({name: value}, {})


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("retention.ms", "soon", "Not a number of type LONG"),
        ("segment.bytes", "1.5", "Not a number of type INT"),
        ("retention.ms", "-2", "at least -1"),
        ("min.cleanable.dirty.ratio", "2", "between 0 and 1"),
        ("compression.type", "brotli", "one of: uncompressed, zstd, lz4"),
        ("cleanup.policy", "keep", "of: delete, compact"),
        ("preallocate", "yes", "one of: true, false"),
    ],
)
def test_a_refusal_says_what_would_be_allowed(name: str, value: str, reason: str) -> None:
    with pytest.raises(
        InvalidRequest, match=f"Invalid value {value} for configuration {name}: .*{reason}"
    ):
        check_config(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cleanup.policy", "delete,"),
        ("cleanup.policy", "compact,delete,keep"),
        ("cleanup.policy", "Compact"),
        ("retention.ms", "-2"),
        ("retention.ms", "soon"),
        ("retention.ms", ""),
        ("retention.ms", "1e3"),
        ("retention.ms", "1_000"),
        ("retention.ms", "1.0"),
        ("retention.ms", str(2**63)),
        ("max.message.bytes", str(2**31)),
        ("min.cleanable.dirty.ratio", "1.1"),
        ("min.cleanable.dirty.ratio", "nan"),
        ("compression.type", "brotli"),
        ("segment.bytes", "1000"),
        ("preallocate", "yes"),
        ("message.timestamp.type", "logappendtime"),
        ("retention.ms", None),
        ("no.such.config", "1"),
    ],
)
def test_bad_values_are_refused_by_name(name: str, value: str | None) -> None:
    with pytest.raises(InvalidRequest, match=name.replace(".", r"\.")):
        check_config(name, value)


def test_a_topics_own_value_beats_the_brokers_beats_kafkas() -> None:
    assert log_settings({}, {}).retention_ms == 7 * 24 * 3600 * 1000
    assert log_settings({}, {"retention.ms": "5"}).retention_ms == 5
    assert log_settings({"retention.ms": "6"}, {"retention.ms": "5"}).retention_ms == 6


def test_a_broker_with_a_bad_topic_default_does_not_start() -> None:
    with pytest.raises(InvalidRequest, match=r"retention\.ms"):
        Broker(topic_defaults={"retention.ms": "soon"}).start()


@pytest.mark.parametrize(
    ("operation", "value", "outcome"),
    [
        (SET, "compact", "compact"),
        (APPEND, "compact", "delete,compact"),
        (APPEND, "delete", "delete"),
        (DELETE, None, None),
        (SUBTRACT, "compact", "delete"),
        (SUBTRACT, "delete", ""),
        (9, "delete", "refused"),
        (SET, "nonsense", "refused"),
        (SET, None, "refused"),
    ],
)
def test_changes_to_a_list(
    broker: Broker, operation: int, value: str | None, outcome: str | None
) -> None:
    create_topic(broker, "t")
    change = {"name": "cleanup.policy", "config_operation": operation, "value": value}
    with Connection(broker.bootstrap) as connection:
        resource = {"resource_type": 2, "resource_name": "t", "configs": [change]}
        answer = connection.request("incremental_alter_configs", 1, resources=[resource])
    topic = broker.embedded.topics.get("t")
    assert topic is not None
    if outcome == "refused":
        assert answer.responses[0].error_code != 0
        assert topic.configs == {}
    else:
        assert answer.responses[0].error_code == 0, answer.responses[0].error_message
        assert topic.configs.get("cleanup.policy") == outcome


def test_open_logs_obey_a_change_at_once(broker: Broker) -> None:
    create_topic(broker, "t")
    topic = broker.embedded.topics.get("t")
    assert topic is not None
    assert topic.partitions[0].log.settings.retention_ms != 1234
    set_configs(broker, "t", {"retention.ms": "1234"})
    assert topic.partitions[0].log.settings.retention_ms == 1234
