"""Changes to a topic's configs, all or nothing per topic. The broker's own settings are fixed at start."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from headwater.broker.config_view import BROKER_RESOURCE, TOPIC_RESOURCE
from headwater.broker.context import RequestContext
from headwater.broker.topic_configs import LIST, TOPIC_CONFIGS, check_config, check_together
from headwater.broker.topics import TopicRecord
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
    if context.broker.topics.get(name) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist."
    if any(each.value is None and each.operation != DELETE for each in changes):
        return ErrorCode.INVALID_REQUEST, "Null value not supported for topic configs"
    if len({each.name for each in changes}) < len(changes):
        return ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys"

    def configs_after(before: TopicRecord) -> dict[str, str]:
        return changed({} if replace_all else dict(before.configs), changes, context)

    try:
        return await _change(name, configs_after, context, only_validate=only_validate)
    except InvalidRequest as error:
        return ErrorCode.INVALID_CONFIG, error.what
    except HeadwaterError as error:
        return code_of(error), str(error)


async def _change(
    name: str,
    configs_after: Callable[[TopicRecord], dict[str, str]],
    context: RequestContext,
    *,
    only_validate: bool,
) -> tuple[ErrorCode, str | None]:
    topics = context.broker.topics
    while (topic := topics.get(name)) is not None:
        before = topic.record
        after = replace(before, configs=configs_after(before))
        if only_validate or await topics.change(topic, before, after):
            return ErrorCode.NONE, None
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' was deleted."


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
