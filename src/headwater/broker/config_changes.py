"""Changes to a topic's configs, all or nothing per topic. The broker's own settings are fixed at start."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from headwater.broker.config_view import BROKER_RESOURCE, TOPIC_RESOURCE
from headwater.broker.context import RequestContext
from headwater.broker.topic_configs import LIST, TOPIC_CONFIGS, check_config, check_together
from headwater.errors import HeadwaterError, InvalidRequest
from headwater.wire.error_codes import ErrorCode, code_of

SET: Final = 0
DELETE: Final = 1
APPEND: Final = 2
SUBTRACT: Final = 3


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """One operation on one config."""

    name: str
    operation: int
    value: str | None


async def apply_changes(
    context: RequestContext,
    resource: tuple[int, str],
    changes: Sequence[ConfigChange],
    *,
    only_validate: bool,
    replace_all: bool = False,
) -> tuple[ErrorCode, str | None]:
    """Change the configs of a topic; returns the error to report."""
    kind, name = resource
    if kind == BROKER_RESOURCE:
        message = (
            "The broker's settings are fixed at start: use flags, HEADWATER_* or headwater.toml."
        )
        return ErrorCode.INVALID_REQUEST, message
    if kind != TOPIC_RESOURCE:
        return ErrorCode.INVALID_REQUEST, f"Unsupported resource type: {kind}"
    topic = context.broker.topics.get(name)
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist."
    if any(each.value is None and each.operation != DELETE for each in changes):
        return ErrorCode.INVALID_REQUEST, "Null value not supported for topic configs"
    if len({each.name for each in changes}) < len(changes):
        return ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys"
    try:
        configs = changed({} if replace_all else dict(topic.configs), changes, context)
    except InvalidRequest as error:
        return ErrorCode.INVALID_CONFIG, error.what
    if not only_validate:
        try:
            await context.broker.topics.set_configs(topic, configs)
        except HeadwaterError as error:
            return code_of(error), str(error)
    return ErrorCode.NONE, None


def changed(
    configs: dict[str, str], changes: Sequence[ConfigChange], context: RequestContext
) -> dict[str, str]:
    """Return the configs after the changes; raises `InvalidRequest` if one of them cannot be made."""
    for each in changes:
        if each.operation == DELETE:
            if each.name not in TOPIC_CONFIGS:
                raise InvalidRequest(f"Unknown topic config name: {each.name}")
            configs.pop(each.name, None)
            continue
        value = each.value
        if each.operation in (APPEND, SUBTRACT):
            value = _combined(configs, each, context)
        elif each.operation != SET:
            raise InvalidRequest(f"Unknown operation {each.operation} on {each.name}")
        check_config(each.name, value)
        configs[each.name] = value or ""
    check_together(configs, context.broker.topics.defaults)
    return configs


def _combined(configs: dict[str, str], change: ConfigChange, context: RequestContext) -> str:
    config = TOPIC_CONFIGS.get(change.name)
    if config is None:
        raise InvalidRequest(f"Unknown topic config name: {change.name}")
    if config.kind != LIST:
        raise InvalidRequest(f"Can't APPEND or SUBTRACT on {change.name}: it is not a list")
    defaults = context.broker.topics.defaults
    current = configs.get(change.name, defaults.get(change.name, config.default))
    items = [each for each in current.split(",") if each]
    given = [each.strip() for each in (change.value or "").split(",") if each.strip()]
    if change.operation == APPEND:
        return ",".join(items + [each for each in given if each not in items])
    return ",".join(each for each in items if each not in given)
