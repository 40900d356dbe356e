"""DescribeClientQuotas, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class ComponentData(Struct):
    entity_type: str = field("string", default="")
    match_type: int = field("int8", default=0)
    match: str | None = field("string", default=None, nullable=0)


class DescribeClientQuotasRequest(Message, api_key=48, versions=(0, 1), flexible_since=1):
    components: Sequence[ComponentData] = field([ComponentData], default=())
    strict: bool = field("bool", default=False)


class EntityData(Struct):
    entity_type: str = field("string", default="")
    entity_name: str | None = field("string", default=None, nullable=0)


class ValueData(Struct):
    key: str = field("string", default="")
    value: float = field("float64", default=0.0)


class EntryData(Struct):
    entity: Sequence[EntityData] = field([EntityData], default=())
    values: Sequence[ValueData] = field([ValueData], default=())


class DescribeClientQuotasResponse(Message, api_key=48, versions=(0, 1), flexible_since=1):
    throttle_time_ms: int = field("int32", default=0)
    error_code: int = field("int16", default=0)
    error_message: str | None = field("string", default=None, nullable=0)
    entries: Sequence[EntryData] | None = field([EntryData], default=(), nullable=0)
