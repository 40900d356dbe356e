"""What a view is: the contract between those who write a view's changelog and those who follow it.

A view is a compacted topic and a definition (`docs/formats/views.md`). This package holds both forms and
the language to ask for rows; it knows neither Kafka nor any store.
"""

from headwater.views.column_types import ColumnType, parse_type
from headwater.views.definition import (
    DEFINITIONS_TOPIC,
    Column,
    View,
    dead_letter_topic,
    decode_definition,
    encode_definition,
)
from headwater.views.keys import decode_key, encode_key
from headwater.views.steps import Step

__all__ = [
    "DEFINITIONS_TOPIC",
    "Column",
    "ColumnType",
    "Step",
    "View",
    "dead_letter_topic",
    "decode_definition",
    "decode_key",
    "encode_definition",
    "encode_key",
    "parse_type",
]
