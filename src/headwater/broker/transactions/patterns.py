"""Patterns of transactional ids, as tools send them: regular expressions that cannot hold up the broker.

Python's matcher may take exponential time if one repetition contains another, and the event loop waits.
Such patterns are refused, and so are those with very many repetitions.
"""

import re
from re import _constants as constants  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Final

from headwater.errors import InvalidRequest

MOST_REPETITIONS: Final = 4
_QUOTED: Final = re.compile(r"\\Q(.*?)(?:\\E|\Z)|\\.", re.DOTALL)
"""Java's quotation, which Python lacks; or an escape, so that its backslash begins no quotation."""
_REPETITIONS: Final = (constants.MAX_REPEAT, constants.MIN_REPEAT)


def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern; raises `InvalidRequest` for one that is no pattern, or takes too long."""
    pattern = _QUOTED.sub(lambda each: each[0] if each[1] is None else re.escape(each[1]), pattern)
    try:
        found = re.compile(pattern)
        repetitions = _repetitions(parser.parse(pattern), inside=False)
    except (re.error, RecursionError, OverflowError) as error:
        raise InvalidRequest(f"{pattern!r} is not a regular expression: {error}") from error
    if repetitions > MOST_REPETITIONS:
        raise InvalidRequest(f"{pattern!r} repeats too often", hint="use a few .* at most")
    return found


def _repetitions(parsed: Any, *, inside: bool) -> int:
    """Count the repetitions in a parsed pattern; one in another counts as too many."""
    count = 0
    for operation, argument in parsed:
        is_repetition = operation in _REPETITIONS
        count += is_repetition * (MOST_REPETITIONS + 1 if inside else 1)
        for part in _parts(argument):
            count += _repetitions(part, inside=inside or is_repetition)
    return count


def _parts(argument: Any) -> list[Any]:
    """The patterns inside of an operation's argument, however deep it keeps them."""
    if isinstance(argument, parser.SubPattern):
        return [argument]
    if isinstance(argument, list | tuple):
        return [part for each in argument for part in _parts(each)]
    return []
