"""The options of `format("headwater")`: text from the user, read as what it stands for.

Names are those of Spark's Kafka source and sink. A name that nobody knows is refused: Spark would ignore
it, and the user would never learn why nothing changed.
"""

import json
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final

from headwater.errors import InvalidRequest
from headwater.streams.kafka_names import refuse_unknown

KAFKA_PREFIX: Final = "kafka."
_WORDS: Final = {"true": True, "false": False}
_MILLISECONDS: Final = {
    "ms": 1,
    "s": 1000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}


class Options:
    """Options by name, without regard to case, as Spark has it."""

    def __init__(self, given: Mapping[str, str], known: Iterable[str]) -> None:
        self._given = {name.lower(): value for name, value in given.items()}
        self._names = {name.lower(): name for name in known}
        for name in self._given:
            if name not in self._names and not name.startswith(KAFKA_PREFIX):
                meant = get_close_matches(name, self._names, n=1)
                hint = f"meant: {self._names[meant[0]]}?" if meant else self._list()
                raise InvalidRequest(f"there is no option {name!r}", hint=hint)

    def text(self, name: str) -> str | None:
        return self._given.get(name.lower())

    def flag(self, name: str, *, default: bool) -> bool:
        value = self.text(name)
        if value is None:
            return default
        if value.lower() not in _WORDS:
            raise _bad(name, value, "true or false")
        return _WORDS[value.lower()]

    def number(self, name: str) -> int | None:
        """A whole number above 0."""
        value = self.text(name)
        if value is None:
            return None
        if not value.isdecimal() or int(value) == 0:
            raise _bad(name, value, "a whole number above 0")
        return int(value)

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """One of the choices; the first one is the default."""
        value = (self.text(name) or choices[0]).lower()
        if value not in choices:
            raise _bad(name, value, " or ".join(choices))
        return value

    def names(self, name: str) -> tuple[str, ...]:
        """A list separated by commas."""
        return tuple(each.strip() for each in (self.text(name) or "").split(",") if each.strip())

    def json(self, name: str) -> Any:
        value = self.text(name)
        if value is None:
            return None
        try:
            return json.loads(value)
        except ValueError as error:
            raise _bad(name, value, f"JSON ({error})") from error

    def duration_ms(self, name: str, default: str) -> int:
        """A time as Spark writes it: `15m`, `10s`, `100ms`."""
        value = (self.text(name) or default).strip().lower()
        digits = value.rstrip("abcdefghijklmnopqrstuvwxyz ")
        unit = value[len(digits) :].strip() or "ms"
        if not digits.isdecimal() or unit not in _MILLISECONDS:
            raise _bad(name, value, "a time such as 15m or 10s")
        return int(digits) * _MILLISECONDS[unit]

    def kafka(self, not_settable: Mapping[str, str]) -> dict[str, str]:
        """What was given as `kafka.<name>`, by that name; some are not the user's, for a reason."""
        found = {
            name.removeprefix(KAFKA_PREFIX): value
            for name, value in self._given.items()
            if name.startswith(KAFKA_PREFIX)
        }
        for name in found:
            if name in not_settable:
                raise InvalidRequest(f"option kafka.{name} cannot be set", hint=not_settable[name])
            refuse_unknown(name)
        return found

    def _list(self) -> str:
        return f"the options are {', '.join(sorted(self._names.values()))} and kafka.*"


def _bad(name: str, value: str, wanted: str) -> InvalidRequest:
    return InvalidRequest(f"option {name} must be {wanted}, not {value!r}")
