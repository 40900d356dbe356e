"""The user's files as modules: loaded, known to each other, and sent along to Spark's workers."""

import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from headwater.errors import HeadwaterError, InvalidRequest
from headwater.streams.locations import of_line

_INSTALLED: Final = ("site-packages", "dist-packages")
_NEEDS_SESSION: Final = re.compile(
    r"SESSION_OR_CONTEXT_NOT_EXISTS|NO_ACTIVE_OR_DEFAULT_SESSION|NO_ACTIVE_SESSION"
)


class NeedsSpark(InvalidRequest):
    """A file can only be read while there is a session: it has, for example, a UDF with a type in SQL."""


def load(file: Path) -> ModuleType:
    """Run a file as a module; raises `InvalidRequest` with the line where it goes wrong."""
    if file.suffix != ".py":
        raise InvalidRequest(
            f"{file} is not a file of Python",
            hint="name one that ends in .py, a folder with some, or a spark-pipeline.yml",
        )
    _let_files_find_each_other(file.resolve().parent)
    try:
        return _run(file)
    except HeadwaterError as error:
        if f"{file.name}:" in error.what:
            raise
        raise type(error)(f"{_where(error, file)}: {error.what}", error.hint) from error
    except SyntaxError as error:
        raise InvalidRequest(f"{_of_syntax(error, file)}: SyntaxError: {error.msg}") from error
    except SystemExit as error:
        raise InvalidRequest(
            f"{_where(error, file)}: the file ends the program that reads it",
            hint='put what a script does behind: if __name__ == "__main__":',
        ) from error
    except Exception as error:
        kind = NeedsSpark if _NEEDS_SESSION.search(str(error)) else InvalidRequest
        raise kind(f"{_where(error, file)}: {type(error).__name__}: {error}") from error


def send_along(bodies: Iterable[Callable[..., Any]]) -> None:
    """Let workers have the functions of the user's files without having the files.

    For the files that lie with these bodies; what is installed is expected to be installed there, too.
    """
    from pyspark.cloudpickle import register_pickle_by_value  # noqa: PLC0415

    codes = [getattr(inspect.unwrap(each), "__code__", None) for each in bodies]
    folders = {Path(each.co_filename).resolve().parent for each in codes if each is not None}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        is_importable = name != "__main__" and getattr(module, "__name__", None) == name
        if not is_importable or file is None or any(part in file for part in _INSTALLED):
            continue
        if folders & set(Path(file).resolve().parents) and name.partition(".")[0] != "headwater":
            register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def _run(file: Path) -> ModuleType:
    name = f"{file.stem}_pipeline" if _is_taken(file) else file.stem
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Spark's own runner gives every module its session by this name.
    vars(module)["spark"] = _LateSession()
    sys.modules[spec.name] = module
    with _asking_for_our_session():
        spec.loader.exec_module(module)
    return module


@contextmanager
def _asking_for_our_session() -> Iterator[None]:
    """A file that would start Spark by itself is read once ours runs, with the settings of the profile."""
    from pyspark.sql import SparkSession  # noqa: PLC0415

    start = SparkSession.Builder.getOrCreate

    def ours(builder: SparkSession.Builder) -> SparkSession:
        if SparkSession.getActiveSession() is None:
            raise NeedsSpark("it starts Spark by itself")
        return start(builder)

    SparkSession.Builder.getOrCreate = ours  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        SparkSession.Builder.getOrCreate = start  # type: ignore[method-assign]


def _is_taken(file: Path) -> bool:
    """Whether others mean something else by the name of a file: a `headwater.py` imports headwater, too."""
    known = sys.modules.get(file.stem)
    is_of_a_user = isinstance(getattr(known, "spark", None), _LateSession)
    return file.stem in sys.stdlib_module_names or (known is not None and not is_of_a_user)


def _let_files_find_each_other(folder: Path) -> None:
    """Before what is installed, but behind Python's own: a `numbers.py` must not become everybody's."""
    if str(folder) not in sys.path:
        installed = [at for at, each in enumerate(sys.path) if Path(each).name in _INSTALLED]
        sys.path.insert(installed[0] if installed else len(sys.path), str(folder))


class _LateSession:
    """The Spark session of the moment a body runs; a file is read before there is one."""

    def __getattr__(self, name: str) -> object:
        from pyspark.sql import SparkSession  # noqa: PLC0415

        return getattr(SparkSession.active(), name)


def _where(error: BaseException, file: Path) -> str:
    """The line of the user's file where it went wrong."""
    lines = [
        each.lineno
        for each in traceback.extract_tb(error.__traceback__)
        if Path(each.filename).resolve() == file.resolve()
    ]
    return f"{file}:{lines[-1]}" if lines else str(file)


def _of_syntax(error: SyntaxError, file: Path) -> str:
    """The line that cannot be read, which may be in a file that this one imports."""
    if not error.lineno:
        return str(file)
    if error.filename is None or Path(error.filename).resolve() == file.resolve():
        return f"{file}:{error.lineno}"
    return str(of_line(error.filename, error.lineno))
