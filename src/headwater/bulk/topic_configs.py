"""Settings of a topic, as a broker has them: its own, or the broker's for all topics."""

from collections.abc import Sequence
from typing import Final

from headwater.bulk.broker_errors import refuse
from headwater.bulk.cluster import Cluster
from headwater.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)

DESCRIBE_CONFIGS_VERSION: Final = 4
_TOPIC: Final = 2


def topic_configs(cluster: Cluster, topic: str, names: Sequence[str]) -> dict[str, str]:
    """Raises `InvalidRequest` if this user may not see them."""
    return cluster.patiently(lambda: _topic_configs(cluster, topic, names))


def _topic_configs(cluster: Cluster, topic: str, names: Sequence[str]) -> dict[str, str]:
    asked = DescribeConfigsResource(
        resource_type=_TOPIC, resource_name=topic, configuration_keys=names
    )
    request = DescribeConfigsRequest(resources=(asked,))
    (result,) = (
        cluster.any_broker()
        .call(request, DESCRIBE_CONFIGS_VERSION, DescribeConfigsResponse)
        .results
    )
    refuse(result.error_code, doing=f"see {' and '.join(names)} of {topic!r}")
    return {each.name: each.value or "" for each in result.configs}
