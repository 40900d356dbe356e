"""Configs as clients see them: value, default and where the value comes from."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Final

from headwater.broker.topic_configs import BOOLEAN, INT, LONG, STRING, TOPIC_CONFIGS
from headwater.config import BrokerSettings
from headwater.log.settings import HOUR_MS, WEEK_MS

TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4
TOPIC_CONFIG: Final = 1
STATIC_BROKER_CONFIG: Final = 4
DEFAULT_CONFIG: Final = 5


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One config with its value and the values it hides, strongest first: (name, value, source)."""

    name: str
    value: str
    source: int
    kind: int
    is_read_only: bool = False
    synonyms: tuple[tuple[str, str, int], ...] = ()
    meaning: str = ""


def topic_config_entries(
    configs: Mapping[str, str], defaults: Mapping[str, str]
) -> list[ConfigEntry]:
    """Return every topic config: the topic's own value, the broker's, or Kafka's default."""
    entries = []
    for name, config in TOPIC_CONFIGS.items():
        layers = []
        if name in configs:
            layers.append((name, configs[name], TOPIC_CONFIG))
        if name in defaults:
            layers.append((config.broker_name or name, defaults[name], STATIC_BROKER_CONFIG))
        layers.append((config.broker_name or name, config.default, DEFAULT_CONFIG))
        _, value, source = layers[0]
        entries.append(
            ConfigEntry(
                name, value, source, config.kind, synonyms=tuple(layers), meaning=config.meaning
            )
        )
    return entries


def broker_config_entries(
    settings: BrokerSettings, advertised: str, node_id: int, data: str
) -> list[ConfigEntry]:
    """Return the broker's configs under Kafka's names, and our own settings under ours."""
    values: list[tuple[str, str, int]] = [
        ("advertised.listeners", f"PLAINTEXT://{advertised}", STRING),
        ("auto.create.topics.enable", str(settings.auto_create_topics).lower(), BOOLEAN),
        ("broker.id", str(node_id), INT),
        ("connections.max.idle.ms", str(settings.max_idle_ms), LONG),
        ("default.replication.factor", "1", INT),
        ("group.initial.rebalance.delay.ms", str(settings.group_initial_rebalance_delay_ms), INT),
        ("group.max.session.timeout.ms", str(settings.group_max_session_timeout_ms), INT),
        ("group.max.size", str(settings.group_max_size), INT),
        ("group.min.session.timeout.ms", str(settings.group_min_session_timeout_ms), INT),
        ("listeners", f"PLAINTEXT://{settings.listen}", STRING),
        ("log.dirs", data, STRING),
        ("log.retention.hours", str(WEEK_MS // HOUR_MS), INT),
        ("log.retention.check.interval.ms", str(settings.retention_check_ms), LONG),
        ("max.connections", str(settings.max_connections), INT),
        ("node.id", str(node_id), INT),
        ("num.partitions", str(settings.num_partitions), INT),
        ("offset.metadata.max.bytes", str(settings.offset_metadata_max_bytes), INT),
        ("offsets.retention.minutes", str(settings.offsets_retention_minutes), INT),
        ("process.roles", "broker,controller", STRING),
        ("socket.request.max.bytes", str(settings.max_request_bytes), INT),
        ("transaction.max.timeout.ms", str(settings.transaction_max_timeout_ms), INT),
        ("transactional.id.expiration.ms", str(settings.transactional_id_expiration_ms), INT),
    ]
    entries = [
        ConfigEntry(name, value, STATIC_BROKER_CONFIG, kind, is_read_only=True)
        for name, value, kind in values
    ]
    return sorted(
        [*entries, *_topic_defaults(settings), *_own(settings)], key=lambda each: each.name
    )


def _topic_defaults(settings: BrokerSettings) -> Iterable[ConfigEntry]:
    for name, config in TOPIC_CONFIGS.items():
        if config.broker_name:
            is_set = name in settings.topic_defaults
            value = settings.topic_defaults.get(name, config.default)
            source = STATIC_BROKER_CONFIG if is_set else DEFAULT_CONFIG
            yield ConfigEntry(config.broker_name, value, source, config.kind, is_read_only=True)


def _own(settings: BrokerSettings) -> Iterable[ConfigEntry]:
    for each in fields(settings):
        value = getattr(settings, each.name)
        is_default = each.name != "topic_defaults" and value == each.default
        source = DEFAULT_CONFIG if is_default else STATIC_BROKER_CONFIG
        yield ConfigEntry(
            f"headwater.{each.name.replace('_', '.')}",
            str(value),
            source,
            STRING,
            is_read_only=True,
            meaning=each.metadata["meaning"],
        )
