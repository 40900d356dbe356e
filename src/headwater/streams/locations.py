"""Where in the user's files something was declared."""

import inspect
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Location:
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


UNKNOWN = Location("?", 0)


def of_function(body: Callable[..., Any]) -> Location:
    code = getattr(inspect.unwrap(body), "__code__", None)
    return UNKNOWN if code is None else of_line(code.co_filename, code.co_firstlineno)


def of_caller() -> Location:
    """The line that called the function that asks."""
    frame = inspect.currentframe()
    for _ in range(2):
        frame = frame.f_back if frame else None
    return UNKNOWN if frame is None else of_line(frame.f_code.co_filename, frame.f_lineno)


def of_error(error: BaseException, body: Callable[..., Any]) -> Location | None:
    """The innermost line of the file of `body` that led to the error, if any did."""
    code = getattr(inspect.unwrap(body), "__code__", None)
    lines = [
        each.lineno
        for each in traceback.extract_tb(error.__traceback__)
        if code is not None and each.filename == code.co_filename and each.lineno
    ]
    return of_line(code.co_filename, lines[-1]) if code is not None and lines else None


def of_line(file: str, line: int) -> Location:
    """Relative to the working directory where possible: shorter to read, and to click on."""
    path = Path(file)
    try:
        return Location(str(path.relative_to(Path.cwd())), line)
    except ValueError:
        return Location(file, line)
