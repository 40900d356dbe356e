"""ApiVersions: what a client learns first, in a form that every client can read."""

from typing import Final

import pytest

from conformance.raw import Connection, ErrorCode, decode, header

# What Apache Kafka 4.3.1 advertises, by API key, for the APIs that clients use.
KAFKA: Final = {
    0: (0, 13),  # Produce: 0 is advertised for old librdkafka, 0-2 are refused (KAFKA-18659)
    1: (4, 18),  # Fetch
    2: (1, 11),  # ListOffsets
    3: (0, 13),  # Metadata
    8: (2, 10),  # OffsetCommit
    9: (1, 10),  # OffsetFetch
    10: (0, 6),  # FindCoordinator
    11: (0, 9),  # JoinGroup
    12: (0, 4),  # Heartbeat
    13: (0, 5),  # LeaveGroup
    14: (0, 5),  # SyncGroup
    15: (0, 6),  # DescribeGroups
    16: (0, 5),  # ListGroups
    18: (0, 4),  # ApiVersions
    19: (2, 7),  # CreateTopics
    20: (1, 6),  # DeleteTopics
    21: (0, 2),  # DeleteRecords
    22: (0, 5),  # InitProducerId
    23: (2, 4),  # OffsetForLeaderEpoch
    32: (1, 4),  # DescribeConfigs
    33: (0, 2),  # AlterConfigs
    35: (1, 5),  # DescribeLogDirs
    37: (0, 3),  # CreatePartitions
    42: (0, 2),  # DeleteGroups
    44: (0, 1),  # IncrementalAlterConfigs
    47: (0, 0),  # OffsetDelete
    60: (0, 2),  # DescribeCluster
}
# APIs that a broker may leave out; if it has them, these are the versions.
OPTIONAL: Final = {
    17: (0, 1),
    24: (0, 5),
    25: (0, 4),
    26: (0, 5),
    27: (1, 2),
    28: (0, 5),
    29: (1, 3),
    30: (1, 3),
    31: (1, 3),
    34: (1, 2),
    36: (0, 2),
    38: (1, 3),
    39: (1, 2),
    40: (1, 2),
    41: (1, 3),
    43: (0, 2),
    45: (0, 1),
    46: (0, 0),
    48: (0, 1),
    49: (0, 1),
    50: (0, 0),
    51: (0, 0),
    55: (0, 2),
    57: (0, 2),
    61: (0, 0),
    64: (0, 0),
    65: (0, 0),
    66: (0, 2),
    68: (0, 1),
    69: (0, 1),
    74: (0, 1),
    75: (0, 0),
    76: (1, 1),
    77: (1, 1),
    78: (1, 2),
    79: (1, 2),
    80: (0, 1),
    81: (0, 0),
    83: (0, 0),
    84: (0, 0),
    85: (0, 1),
    86: (0, 0),
    87: (0, 1),
    88: (0, 0),
    89: (0, 0),
    90: (0, 1),
    91: (0, 0),
    92: (0, 0),
}
# A request of the future has a flexible header: its tags, none, are the last byte.
FROM_THE_FUTURE: Final = header(18, 99) + b"\x00"
CLIENT: Final = {"client_software_name": "conformance", "client_software_version": "1.0"}


def advertised(connection: Connection) -> dict[int, tuple[int, int]]:
    response = connection.request("api_versions", 4, **CLIENT)
    return {key.api_key: (key.min_version, key.max_version) for key in response.api_keys}


@pytest.mark.parametrize("api_key", KAFKA)
def test_version_range_is_that_of_kafka(connection: Connection, api_key: int):
    assert advertised(connection)[api_key] == KAFKA[api_key]


def test_no_api_is_advertised_in_versions_that_kafka_does_not_have(connection: Connection):
    known = KAFKA | OPTIONAL
    assert {key: known.get(key) for key in advertised(connection)} == advertised(connection)


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_every_version_lists_the_same_apis(connection: Connection, version: int):
    fields = CLIENT if version >= 3 else {}

    response = connection.request("api_versions", version, **fields)

    assert response.error_code == ErrorCode.none
    assert {key.api_key for key in response.api_keys} == advertised(connection).keys()


def test_unknown_version_is_answered_in_version_0_with_the_versions_known(connection: Connection):
    connection.send_bytes(FROM_THE_FUTURE)

    correlation_id, response = decode("api_versions", 0, connection.receive_bytes())

    assert correlation_id == 1
    assert response.error_code == ErrorCode.unsupported_version
    ranges = {key.api_key: (key.min_version, key.max_version) for key in response.api_keys}
    assert ranges[18] == (0, 4)


def test_connection_goes_on_after_an_unknown_version(connection: Connection):
    connection.send_bytes(FROM_THE_FUTURE)
    connection.receive_bytes()

    assert connection.request("api_versions", 0).error_code == ErrorCode.none


@pytest.mark.parametrize("name", ["", "not a name", "-dash"])
def test_malformed_client_name_is_an_invalid_request(connection: Connection, name: str):
    response = connection.request(
        "api_versions", 3, client_software_name=name, client_software_version="1"
    )

    assert response.error_code == ErrorCode.invalid_request


def test_finalized_features_are_within_the_supported_ones(connection: Connection):
    response = connection.request("api_versions", 4, **CLIENT)

    supported = {feature.name: feature.max_version for feature in response.supported_features}
    for feature in response.finalized_features:
        assert feature.max_version_level <= supported[feature.name]
