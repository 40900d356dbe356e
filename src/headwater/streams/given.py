"""What a declaration was given, as the text it stands for; what cannot be meant is refused with its place.

A type checker would refuse most of it, and without one Spark would, with an error of its inner parts.
"""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, Final, cast, get_args

from headwater.errors import InvalidRequest
from headwater.streams.datasets import Action, Expectation
from headwater.streams.locations import Location

Expect = Mapping[str, str | tuple[str, Action]]
Settings = Mapping[str, str | float]
"""Text, numbers, true and false by name."""

_PAIR: Final = 2
_ACTIONS: Final = get_args(Action)


def texts(given: Settings | None, what: str, location: Location) -> dict[str, str]:
    """Settings as Spark would write them: `False` is `false`; `what` is the word for one of them."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidRequest(
            f"the {what}s at {location} have no names: {given!r}",
            hint='write: {"name": "value"}',
        )
    found = {}
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, str | bool | int | float):
            raise InvalidRequest(
                f"{location}: the {what} {name!r} cannot be {value!r}",
                hint="its name is text, its value text, a number, True or False",
            )
        found[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return found


def expectations(expect: Expect | None, location: Location) -> tuple[Expectation, ...]:
    """The rules for rows, in their order."""
    if expect is None:
        return ()
    if not isinstance(expect, Mapping):
        raise InvalidRequest(
            f"the rules at {location} have no names: {expect!r}",
            hint='write: expect={"positive": "total >= 0"}',
        )
    return tuple(_expectation(name, rule, location) for name, rule in expect.items())


def _expectation(name: object, rule: object, location: Location) -> Expectation:
    if not isinstance(name, str):
        raise InvalidRequest(
            f"the rule name {name!r} at {location} is no text",
            hint='write: expect={"positive": "total >= 0"}',
        )
    pair = (rule, "warn") if isinstance(rule, str) else rule
    example = f'write: "{name}": ("total >= 0", "drop")'
    if not isinstance(pair, tuple | list) or len(pair) != _PAIR:
        raise InvalidRequest(
            f"the rule {name!r} at {location} is no condition, and no pair of one and an action",
            hint=example,
        )
    condition, action = pair
    if not isinstance(condition, str):
        raise InvalidRequest(
            f"the rule {name!r} at {location}: the condition {condition!r} is no text", hint=example
        )
    if not isinstance(action, str) or action not in _ACTIONS:
        raise InvalidRequest(
            f"the rule {name!r} at {location} has no action {action!r}",
            hint="use warn, drop, quarantine or fail",
        )
    return Expectation(name, condition, cast("Action", action))


def refuse_unknown(
    options: Mapping[str, Any], known: tuple[str, ...], name: str, location: Location
) -> None:
    for each in options:
        if each not in known:
            near = get_close_matches(each, known, n=1)
            raise InvalidRequest(
                f"{location}: {name!r} cannot be told {each!r}",
                hint=f"did you mean {near[0]!r}?" if near else f"it takes: {', '.join(known)}",
            )


def refuse_bad_output(name: str, location: Location, version: object, output_mode: object) -> None:
    """What a run would take for something else."""
    if not isinstance(version, int) or version < 1:
        raise InvalidRequest(
            f"{location}: {name!r} cannot have the version {version!r}",
            hint="versions are 1, 2, 3 and so on",
        )
    if output_mode not in (None, "append", "update"):
        raise InvalidRequest(
            f"{location}: {name!r} cannot have the output mode {output_mode!r}",
            hint="use append or update",
        )


def refuse_no_function(body: Callable[..., Any]) -> None:
    """The file that is read is named by who reads it."""
    if not callable(body):
        raise InvalidRequest(
            f"{body!r} is no function", hint='give names by name: @pipeline.table(name="t")'
        )
