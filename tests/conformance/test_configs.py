"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs: values, defaults and their sources."""

from typing import Any, Final

import pytest

from conformance.batches import batch
from conformance.calls import append, eventually, produce
from conformance.conftest import NewTopic
from conformance.raw import Connection, ErrorCode

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
DYNAMIC_TOPIC, STATIC_BROKER, DEFAULT = 1, 4, 5
LONG_MAX: Final = str(2**63 - 1)

DEFAULTS: Final = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "delete.retention.ms": "86400000",
    "flush.messages": LONG_MAX,
    "flush.ms": LONG_MAX,
    "index.interval.bytes": "4096",
    "max.compaction.lag.ms": LONG_MAX,
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": LONG_MAX,
    "message.timestamp.type": "CreateTime",
    "min.cleanable.dirty.ratio": "0.5",
    "min.compaction.lag.ms": "0",
    "min.insync.replicas": "1",
    "preallocate": "false",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
    "segment.index.bytes": "10485760",
    "segment.jitter.ms": "0",
    "segment.ms": "604800000",
    "unclean.leader.election.enable": "false",
}
# ConfigDef.Type by number: BOOLEAN 1, STRING 2, INT 3, LONG 5, DOUBLE 6, LIST 7.
TYPES: Final = {
    "cleanup.policy": 7,
    "compression.type": 2,
    "max.message.bytes": 3,
    "min.cleanable.dirty.ratio": 6,
    "preallocate": 1,
    "retention.ms": 5,
    "segment.bytes": 3,
}


def describe(
    connection: Connection, name: str, keys: list[str] | None = None, **fields: Any
) -> dict[str, Any]:
    result = describe_resource(connection, TOPIC, name, keys, **fields)
    assert result.error_code == ErrorCode.none, result
    return {config.name: config for config in result.configs}


def describe_resource(
    connection: Connection, kind: int, name: str, keys: list[str] | None = None, **fields: Any
) -> Any:
    response = connection.request(
        "describe_configs",
        4,
        resources=[{"resource_type": kind, "resource_name": name, "configuration_keys": keys}],
        **fields,
    )
    return response.results[0]


def value_of(connection: Connection, topic: str, config: str) -> tuple[str, int]:
    described = describe(connection, topic, [config])[config]
    return described.value, described.config_source


def change(
    connection: Connection, topic: str, *operations: tuple[int, str, str | None], **fields: Any
) -> Any:
    response = connection.request(
        "incremental_alter_configs",
        1,
        resources=[
            {
                "resource_type": TOPIC,
                "resource_name": topic,
                "configs": [
                    {"config_operation": operation, "name": name, "value": value}
                    for operation, name, value in operations
                ],
            }
        ],
        **fields,
    )
    return response.responses[0]


def replace(connection: Connection, topic: str, configs: dict[str, str], **fields: Any) -> Any:
    response = connection.request(
        "alter_configs",
        2,
        resources=[
            {
                "resource_type": TOPIC,
                "resource_name": topic,
                "configs": [{"name": name, "value": value} for name, value in configs.items()],
            }
        ],
        **fields,
    )
    return response.responses[0]


@pytest.mark.parametrize("config", DEFAULTS)
def test_default_of_a_topic_config(connection: Connection, topic: str, config: str):
    described = describe(connection, topic)[config]

    assert described.value == DEFAULTS[config]
    # Kafka pins min.insync.replicas for the whole cluster when it formats its storage.
    assert described.config_source == DEFAULT or config == "min.insync.replicas"
    assert not described.read_only
    assert not described.is_sensitive


@pytest.mark.parametrize("config", TYPES)
def test_type_of_a_topic_config(connection: Connection, topic: str, config: str):
    assert describe(connection, topic)[config].config_type == TYPES[config]


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_describes_a_topic_in_every_version(
    connection: Connection, new_topic: NewTopic, version: int
):
    topic = new_topic(configs={"retention.ms": "1234"})

    response = connection.request(
        "describe_configs",
        version,
        resources=[{"resource_type": TOPIC, "resource_name": topic, "configuration_keys": None}],
    )

    (result,) = response.results
    assert (result.error_code, result.resource_type, result.resource_name) == (
        ErrorCode.none,
        TOPIC,
        topic,
    )
    (retention,) = [config for config in result.configs if config.name == "retention.ms"]
    assert (retention.value, retention.config_source) == ("1234", DYNAMIC_TOPIC)
    assert len(result.configs) >= len(DEFAULTS)


def test_only_the_asked_configs_are_described(connection: Connection, topic: str):
    described = describe(connection, topic, ["retention.ms", "cleanup.policy", "no.such.config"])

    assert described.keys() == {"retention.ms", "cleanup.policy"}


def test_synonyms_only_when_asked_for(connection: Connection, new_topic: NewTopic):
    topic = new_topic(configs={"retention.bytes": "99"})

    silent = describe(connection, topic, ["retention.bytes"])["retention.bytes"]
    asked = describe(connection, topic, ["retention.bytes"], include_synonyms=True)[
        "retention.bytes"
    ]

    assert silent.synonyms == []
    assert [(one.name, one.value, one.source) for one in asked.synonyms] == [
        ("retention.bytes", "99", DYNAMIC_TOPIC),
        ("log.retention.bytes", "-1", DEFAULT),
    ]


def test_documentation_only_when_asked_for(connection: Connection, topic: str):
    silent = describe(connection, topic, ["retention.ms"])["retention.ms"]
    asked = describe(connection, topic, ["retention.ms"], include_documentation=True)[
        "retention.ms"
    ]

    assert silent.documentation is None
    assert asked.documentation


def test_unknown_topic(connection: Connection, name: str):
    result = describe_resource(connection, TOPIC, name)

    assert result.error_code == ErrorCode.unknown_topic_or_partition
    assert result.configs == []


def test_invalid_topic_name(connection: Connection):
    result = describe_resource(connection, TOPIC, "a b")

    assert result.error_code == ErrorCode.invalid_topic_exception


def test_broker_configs(connection: Connection):
    node = connection.request("metadata", 12, topics=[]).brokers[0].node_id

    result = describe_resource(connection, BROKER, str(node))

    assert result.error_code == ErrorCode.none
    described = {config.name: config for config in result.configs}
    assert described["message.max.bytes"].value == "1048588"
    assert described["num.partitions"].value == "1"
    assert described["advertised.listeners"].config_source == STATIC_BROKER
    assert described["auto.create.topics.enable"].value == "true"
    assert described["log.retention.hours"].value == "168"


def test_broker_of_another_id(connection: Connection):
    assert describe_resource(connection, BROKER, "999").error_code == ErrorCode.invalid_request


def test_broker_id_that_is_no_number(connection: Connection):
    assert describe_resource(connection, BROKER, "abc").error_code == ErrorCode.invalid_request


def test_set_and_delete(connection: Connection, topic: str):
    assert change(connection, topic, (SET, "retention.ms", "5000")).error_code == ErrorCode.none
    eventually(lambda: value_of(connection, topic, "retention.ms") == ("5000", DYNAMIC_TOPIC))

    assert change(connection, topic, (DELETE, "retention.ms", None)).error_code == ErrorCode.none
    eventually(lambda: value_of(connection, topic, "retention.ms") == ("604800000", DEFAULT))


def test_set_leaves_the_other_configs_alone(connection: Connection, new_topic: NewTopic):
    topic = new_topic(configs={"retention.bytes": "77"})

    change(connection, topic, (SET, "retention.ms", "5000"))

    eventually(lambda: value_of(connection, topic, "retention.ms") == ("5000", DYNAMIC_TOPIC))
    assert value_of(connection, topic, "retention.bytes") == ("77", DYNAMIC_TOPIC)


def test_delete_of_what_is_not_set(connection: Connection, topic: str):
    assert change(connection, topic, (DELETE, "retention.ms", None)).error_code == ErrorCode.none


def test_append_and_subtract(connection: Connection, topic: str):
    change(connection, topic, (APPEND, "cleanup.policy", "compact"))
    eventually(
        lambda: value_of(connection, topic, "cleanup.policy") == ("delete,compact", DYNAMIC_TOPIC)
    )

    change(connection, topic, (SUBTRACT, "cleanup.policy", "delete"))
    eventually(lambda: value_of(connection, topic, "cleanup.policy") == ("compact", DYNAMIC_TOPIC))


def test_last_cleanup_policy_can_be_taken_away(connection: Connection, topic: str):
    change(connection, topic, (SUBTRACT, "cleanup.policy", "delete"))

    eventually(lambda: value_of(connection, topic, "cleanup.policy") == ("", DYNAMIC_TOPIC))


def test_truth_is_written_in_any_case(connection: Connection, topic: str):
    for value in ("TRUE", "False"):
        answer = change(connection, topic, (SET, "preallocate", value))
        assert answer.error_code == ErrorCode.none


def test_append_of_what_is_there_and_subtract_of_what_is_not(connection: Connection, topic: str):
    assert (
        change(connection, topic, (APPEND, "cleanup.policy", "delete")).error_code == ErrorCode.none
    )
    assert (
        change(connection, topic, (SUBTRACT, "cleanup.policy", "compact")).error_code
        == ErrorCode.none
    )
    assert value_of(connection, topic, "cleanup.policy")[0] == "delete"


def test_append_to_a_config_that_is_no_list_is_refused(connection: Connection, topic: str):
    answer = change(connection, topic, (APPEND, "retention.ms", "5"))

    assert answer.error_code == ErrorCode.invalid_config


@pytest.mark.parametrize(
    "operation",
    [
        (SET, "retention.ms", "abc"),
        (SET, "no.such.config", "1"),
        (SET, "cleanup.policy", "shred"),
        (APPEND, "cleanup.policy", "shred"),
        (SET, "segment.bytes", "1"),
    ],
)
def test_bad_value_is_refused_and_changes_nothing(
    connection: Connection, topic: str, operation: tuple[int, str, str]
):
    answer = change(connection, topic, (SET, "retention.bytes", "123"), operation)

    assert answer.error_code == ErrorCode.invalid_config
    assert answer.error_message
    assert value_of(connection, topic, "retention.bytes") == ("-1", DEFAULT)


def test_configs_that_contradict_each_other_are_refused(
    connection: Connection, new_topic: NewTopic
):
    topic = new_topic(configs={"max.compaction.lag.ms": "1000"})

    answer = change(connection, topic, (SET, "min.compaction.lag.ms", "1001"))

    assert answer.error_code == ErrorCode.invalid_config
    assert "min.compaction.lag.ms (1001) > max.compaction.lag.ms (1000)" in answer.error_message
    assert change(connection, topic, (SET, "min.compaction.lag.ms", "1000")).error_code == 0


def test_null_value_is_refused(connection: Connection, topic: str):
    answer = change(connection, topic, (SET, "retention.ms", None))

    assert answer.error_code == ErrorCode.invalid_request


def test_config_named_twice_is_refused(connection: Connection, topic: str):
    answer = change(connection, topic, (SET, "retention.ms", "1"), (SET, "retention.ms", "2"))

    assert answer.error_code == ErrorCode.invalid_request


def test_validate_only_changes_nothing(connection: Connection, topic: str):
    answer = change(connection, topic, (SET, "retention.ms", "5000"), validate_only=True)
    bad = change(connection, topic, (SET, "retention.ms", "abc"), validate_only=True)

    assert answer.error_code == ErrorCode.none
    assert bad.error_code == ErrorCode.invalid_config
    assert value_of(connection, topic, "retention.ms") == ("604800000", DEFAULT)


def test_change_of_an_unknown_topic(connection: Connection, name: str):
    answer = change(connection, name, (SET, "retention.ms", "1"))

    assert answer.error_code == ErrorCode.unknown_topic_or_partition
    assert answer.resource_name == name


def test_unknown_operation_is_refused(connection: Connection, topic: str):
    assert change(connection, topic, (9, "retention.ms", "1")).error_code != ErrorCode.none
    assert value_of(connection, topic, "retention.ms") == ("604800000", DEFAULT)


@pytest.mark.parametrize("version", [0, 1])
def test_incremental_change_in_every_version(connection: Connection, topic: str, version: int):
    response = connection.request(
        "incremental_alter_configs",
        version,
        resources=[
            {
                "resource_type": TOPIC,
                "resource_name": topic,
                "configs": [{"config_operation": SET, "name": "retention.ms", "value": "7"}],
            }
        ],
    )

    assert response.responses[0].error_code == ErrorCode.none
    eventually(lambda: value_of(connection, topic, "retention.ms") == ("7", DYNAMIC_TOPIC))


def test_alter_configs_replaces_all_of_them(connection: Connection, new_topic: NewTopic):
    topic = new_topic(configs={"retention.bytes": "77", "retention.ms": "88"})

    assert replace(connection, topic, {"retention.ms": "99"}).error_code == ErrorCode.none

    eventually(lambda: value_of(connection, topic, "retention.ms") == ("99", DYNAMIC_TOPIC))
    assert value_of(connection, topic, "retention.bytes") == ("-1", DEFAULT)


def test_alter_configs_refuses_bad_values_and_unknown_topics(
    connection: Connection, topic: str, name: str
):
    assert (
        replace(connection, topic, {"retention.ms": "abc"}).error_code == ErrorCode.invalid_config
    )
    assert (
        replace(connection, name, {"retention.ms": "1"}).error_code
        == ErrorCode.unknown_topic_or_partition
    )


def test_alter_configs_validate_only(connection: Connection, topic: str):
    answer = replace(connection, topic, {"retention.ms": "99"}, validate_only=True)

    assert answer.error_code == ErrorCode.none
    assert value_of(connection, topic, "retention.ms") == ("604800000", DEFAULT)


def test_changed_config_is_obeyed(connection: Connection, topic: str):
    append(connection, topic, batch(b"x" * 5000))
    change(connection, topic, (SET, "max.message.bytes", "1000"))

    def is_too_large() -> bool:
        answer = produce(connection, topic, batch(b"x" * 5000))
        return bool(answer.error_code == ErrorCode.message_too_large)

    eventually(is_too_large)


def test_several_resources_in_one_request(connection: Connection, topic: str, name: str):
    response = connection.request(
        "describe_configs",
        4,
        resources=[
            {"resource_type": TOPIC, "resource_name": name, "configuration_keys": None},
            {"resource_type": TOPIC, "resource_name": topic, "configuration_keys": []},
        ],
    )

    assert {result.resource_name: result.error_code for result in response.results} == {
        name: ErrorCode.unknown_topic_or_partition,
        topic: ErrorCode.none,
    }


def test_empty_list_of_keys_asks_for_all_of_them(connection: Connection, topic: str):
    assert describe(connection, topic, []).keys() == describe(connection, topic, None).keys()
