"""Spark's errors in one sentence: the cause that a person can act on, without its stack."""

import re
from pathlib import Path
from typing import Final

from py4j.protocol import Py4JJavaError

_ERROR_CODES: Final = re.compile(r"^\[[A-Z0-9_.]+\]\s*|\s*SQLSTATE: \w{5}\b")
_OURS: Final = re.compile(r"^(?:\w+\.)*headwater\.errors\.\w+: (?P<what>.+)$", re.MULTILINE)
_NAMED: Final = re.compile(
    r"^(?:\w+\.)*(?P<kind>\w+(?:Error|Exception)): (?P<what>.+)$", re.MULTILINE
)
_FULL: Final = "No space left on device"
_LONGEST: Final = 500


def in_one_sentence(error: BaseException, checkpoint: Path) -> str:
    """The innermost message: ours where one of ours is to blame, else the user's Python, else Spark's."""
    text = _text(error)
    if _FULL in str(error):
        return f"no space is left for the checkpoint ({checkpoint}) or for Spark's files (spark.local.dir)"
    found = _OURS.findall(text)
    if found:
        return _short(found[-1])
    named = _NAMED.findall(text)
    if named:
        kind, what = named[-1]
        return _short(f"{kind}: {message_of(what)}")
    lines = [each.strip() for each in text.splitlines() if each.strip()]
    return _short(message_of(lines[0]) if lines else type(error).__name__)


def message_of(words: str) -> str:
    """What Spark says, without the names that its own tests know it by."""
    return _ERROR_CODES.sub("", words).rstrip("; ")


def _text(error: BaseException) -> str:
    """What it says; of an error inside Java, what its causes say, the innermost last."""
    if not isinstance(error, Py4JJavaError):
        return str(error)
    messages, cause = [], error.java_exception
    while cause is not None:
        messages.append(str(cause.getMessage() or ""))
        cause = cause.getCause()
    return "\n".join(each for each in messages if each)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
