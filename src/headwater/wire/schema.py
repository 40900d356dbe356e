"""How a Kafka message is declared: fields in wire order, each with the versions that carry it.

One class serves all versions of a message, so a handler is written once. A field that the version in
use does not carry is dropped by the encoder and set to its default by the decoder (`codec.py`).
"""

from collections.abc import Callable
from typing import Any, ClassVar, dataclass_transform

NEWEST = 32767
"""Stands for "and every later version"."""

ZERO_UUID = bytes(16)


class Field:
    """One field: its kind and the versions in which it is present, nullable or tagged."""

    __slots__ = ("default", "kind", "name", "nullable", "since", "tag", "until")

    def __init__(
        self,
        kind: "Kind",
        default: Any,
        since: int,
        until: int,
        nullable: int | None,
        tag: int | None,
    ) -> None:
        self.name = ""
        self.kind = kind
        self.default = default
        self.since = since
        self.until = until
        self.nullable = nullable
        self.tag = tag

    def is_in(self, version: int) -> bool:
        return self.since <= version <= self.until

    def is_nullable_in(self, version: int) -> bool:
        return self.nullable is not None and version >= self.nullable


type_of_kind = str | type["Struct"]
Kind = type_of_kind | list[type_of_kind]
"""A primitive by name, a struct by class, or a one-element list of either: an array."""


def field(
    kind: Kind,
    *,
    default: Any,
    since: int = 0,
    until: int = NEWEST,
    nullable: int | None = None,
    tag: int | None = None,
) -> Any:
    """Declare one field of a `Struct`; `nullable` is the first version in which null is allowed."""
    return Field(kind, default, since, until, nullable, tag)


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class StructType(type):
    """Turns declared fields into slots."""

    fields: tuple[Field, ...]

    def __new__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> "StructType":
        fields = [value for value in namespace.values() if isinstance(value, Field)]
        for key, value in list(namespace.items()):
            if isinstance(value, Field):
                value.name = key
                del namespace[key]
        namespace["__slots__"] = tuple(each.name for each in fields)
        made = super().__new__(cls, name, bases, namespace, **options)
        made.fields = tuple(fields)
        return made


class Struct(metaclass=StructType):
    """A part of a message. Constructed with keywords; every field has a default."""

    __slots__: ClassVar[tuple[str, ...]]

    def __init__(self, **values: Any) -> None:
        # Compiled on first use: most messages are never built by a given process.
        cls = type(self)
        cls.__init__ = compile_init(cls)  # type: ignore[method-assign]
        cls.__init__(self, **values)

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{name}={getattr(self, name)!r}" for name in self.__slots__ if hasattr(self, name)
        )
        return f"{type(self).__name__}({shown})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__
        )

    __hash__ = None  # type: ignore[assignment]


class Message(Struct):
    """A request or a response: a struct with an API key and a range of versions."""

    api_key: ClassVar[int]
    versions: ClassVar[range]
    flexible_since: ClassVar[int]

    def __init_subclass__(
        cls, *, api_key: int, versions: tuple[int, int], flexible_since: int = NEWEST
    ) -> None:
        cls.api_key = api_key
        cls.versions = range(versions[0], versions[1] + 1)
        cls.flexible_since = flexible_since

    @classmethod
    def is_flexible_in(cls, version: int) -> bool:
        return version >= cls.flexible_since


def compile_init(cls: type[Struct]) -> Callable[..., None]:
    """Write a keyword `__init__` that sets every slot."""
    fields = cls.fields
    scope: dict[str, Any] = {f"_{each.name}": each.default for each in fields}
    parameters = "".join(f", {each.name}=_{each.name}" for each in fields)
    body = "; ".join(f"self.{each.name} = {each.name}" for each in fields) or "pass"
    star = ", *" if fields else ""
    exec(f"def __init__(self{star}{parameters}): {body}", scope)  # noqa: S102
    made: Callable[..., None] = scope["__init__"]
    return made
