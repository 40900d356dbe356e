"""What a script learns from `$?`: the class of the error, nothing finer."""

from headwater.errors import (
    Conflict,
    Fenced,
    HeadwaterError,
    InvalidRecord,
    InvalidRequest,
    NotFound,
    OffsetOutOfRange,
    RecordTooLarge,
    Unavailable,
    UnreadableValue,
)

OK = 0
FAILED = 1
USAGE = 2
NOT_FOUND = 3
UNREACHABLE = 4
REFUSED = 5
INTERRUPTED = 130
TERMINATED = 143

_CODES: dict[type[BaseException], int] = {
    NotFound: NOT_FOUND,
    Unavailable: UNREACHABLE,
    Conflict: REFUSED,
    Fenced: REFUSED,
    InvalidRequest: USAGE,
    # The command was right; a record was not.
    OffsetOutOfRange: FAILED,
    RecordTooLarge: FAILED,
    InvalidRecord: FAILED,
    UnreadableValue: FAILED,
}


def exit_code_of(error: HeadwaterError) -> int:
    """The code of the nearest class that has one."""
    return next((_CODES[kind] for kind in type(error).__mro__ if kind in _CODES), FAILED)
