"""The definition of a view: what its changelog holds, and the record that says so."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final

from headwater.errors import InvalidRequest
from headwater.views.column_types import ColumnType, parse_type
from headwater.views.steps import Step, lead_to

DEFINITIONS_TOPIC: Final = "__headwater.views"
"""Compacted: key = name of a view, value = its definition, no value = the view is gone."""

_NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_DEAD: Final = ".dead"
_FORBIDDEN_IN_COLUMNS: Final = re.compile(r'["\\\x00-\x1f]')
_MOST_COLUMNS: Final = 1000
_HINT: Final = "the form is in docs/formats/views.md"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: ColumnType
    is_nullable: bool = True


@dataclass(frozen=True)
class View:
    """A view as its writer defines it; raises `InvalidRequest` when it makes no sense."""

    name: str
    topic: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    comment: str = ""
    pipeline: str = ""
    version: int = 1
    """Another version means other content: followers build it anew beside the old one."""
    indexes: tuple[tuple[str, ...], ...] = ()
    """Columns, beside the key, by which rows are looked for."""
    group: str = ""
    """The group whose committed offsets say how far the pipeline has read its input topics."""
    steps: tuple[Step, ...] = ()
    """Where a pipeline has several queries on the way to the view: each of them, in their order."""

    def __post_init__(self) -> None:
        why = self._why_not()
        if why:
            raise InvalidRequest(f"view {self.name!r} cannot be defined: {why}", hint=_HINT)

    def _why_not(self) -> str:
        names = [each.name for each in self.columns]
        folded = [each.lower() for each in names]
        wanted = [*self.key, *(name for index in self.indexes for name in index)]
        nested = [each.name for each in self.columns if each.type.kind == "json"]
        checks = {
            "its name has other characters than a-z A-Z 0-9 . _ -": _NAME.fullmatch(self.name),
            "its name is that of a directory": self.name not in (".", ".."),
            f"{self.topic!r} is not a name of a topic": _NAME.fullmatch(self.topic),
            f"{self.topic!r} is too long a name: there is no room for {_DEAD!r} behind it, the topic "
            "of what cannot be applied": _NAME.fullmatch(dead_letter_topic(self.topic)),
            f"it has {len(names)} columns": 0 < len(names) <= _MOST_COLUMNS,
            "a column has no name, or quotes or control characters in it": all(
                each and not _FORBIDDEN_IN_COLUMNS.search(each) for each in names
            ),
            "two columns have the same name": len(set(folded)) == len(folded),
            "it has no key, or a column of the key twice": len(set(self.key)) == len(self.key) > 0,
            f"its key or an index names a column that is not in {names}": set(wanted) <= set(names),
            "a nested column cannot be a key": not set(self.key) & set(nested),
            f"its steps do not lead to {self.topic!r}": lead_to(self.topic, self.steps),
        }
        return next((why for why, holds in checks.items() if not holds), "")

    @cached_property
    def by_name(self) -> Mapping[str, Column]:
        return {each.name: each for each in self.columns}

    @property
    def key_columns(self) -> tuple[Column, ...]:
        return tuple(self.by_name[name] for name in self.key)

    def tells_of(self, topic: str) -> bool:
        """Whether it can be told when a record of this topic is in the view."""
        is_read = (
            any(topic in each.reads for each in self.steps) if self.steps else bool(self.group)
        )
        return topic == self.topic or is_read

    @cached_property
    def fingerprint(self) -> str:
        """Of what its rows are: two views of one topic that have the same one have the same rows."""
        columns = [(each.name, each.type.name, each.is_nullable) for each in self.columns]
        rows = json.dumps([self.version, self.key, columns])
        return blake2b(rows.encode(), digest_size=8).hexdigest()

    @property
    def short_name(self) -> str:
        """`revenue` for `shop.revenue`: what a query may call it."""
        return self.name.rpartition(".")[2]


def dead_letter_topic(topic: str) -> str:
    """Where records of a topic go that cannot be applied."""
    return topic + _DEAD


def encode_definition(view: View) -> bytes:
    """The value of the definition's record."""
    content: dict[str, Any] = {
        "name": view.name,
        "topic": view.topic,
        "key": list(view.key),
        "columns": [
            {"name": each.name, "type": each.type.name, "nullable": each.is_nullable}
            for each in view.columns
        ],
        "comment": view.comment,
        "pipeline": view.pipeline,
        "version": view.version,
    }
    if view.indexes:
        content["indexes"] = [list(each) for each in view.indexes]
    if view.group:
        content["group"] = view.group
    if view.steps:
        content["steps"] = [each.to_json() for each in view.steps]
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()


def decode_definition(raw: bytes) -> View:
    """Read a definition; fields it does not know are ignored. Raises `InvalidRequest`."""
    try:
        content = json.loads(raw)
        return View(
            name=_text(content, "name"),
            topic=_text(content, "topic"),
            key=tuple(_names(content["key"])),
            columns=tuple(_column(each) for each in content["columns"]),
            comment=_text(content, "comment", ""),
            pipeline=_text(content, "pipeline", ""),
            version=_whole(content.get("version", 1)),
            indexes=tuple(tuple(_names(each)) for each in content.get("indexes", ())),
            group=_text(content, "group", ""),
            steps=tuple(Step.from_json(each) for each in content.get("steps", ())),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidRequest(
            f"this is not the definition of a view: {type(error).__name__} {error}",
            hint=_HINT,
        ) from error


def _column(content: Any) -> Column:
    nullable = content.get("nullable", True)
    if not isinstance(nullable, bool):
        raise TypeError("nullable is not true or false")
    return Column(_text(content, "name"), parse_type(_text(content, "type")), nullable)


def _text(content: Any, name: str, default: str | None = None) -> str:
    value = content[name] if default is None else content.get(name, default)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise TypeError(f"{name} is not text")
    return value


def _names(content: Any) -> list[str]:
    if not isinstance(content, list) or not all(isinstance(each, str) for each in content):
        raise TypeError("the columns of a key or an index are a list of names")
    return content


def _whole(content: Any) -> int:
    if not isinstance(content, int) or isinstance(content, bool):
        raise TypeError("version is not a whole number")
    return content
