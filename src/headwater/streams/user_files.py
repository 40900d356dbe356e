"""The user's files as modules: loaded, known to each other, and sent along to Spark's workers."""

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from headwater.errors import InvalidRequest

_INSTALLED: Final = ("site-packages", "dist-packages")
_NEEDS_SESSION: Final = "SESSION_OR_CONTEXT_NOT_EXISTS"


class NeedsSpark(InvalidRequest):
    """A file can only be read while there is a session: it has, for example, a UDF with a type in SQL."""


def load(file: Path) -> ModuleType:
    """Run a file as a module; raises `InvalidRequest` with the line where it goes wrong."""
    _let_files_find_each_other(file.resolve().parent)
    try:
        return _run(file)
    except InvalidRequest as error:
        if f"{file.name}:" in error.what:
            raise
        raise InvalidRequest(f"{_where(error, file)}: {error.what}", error.hint) from error
    except Exception as error:
        kind = NeedsSpark if _NEEDS_SESSION in str(error) else InvalidRequest
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
    name = f"{file.stem}_pipeline" if file.stem in sys.stdlib_module_names else file.stem
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Spark's own runner gives every module its session by this name.
    vars(module)["spark"] = _LateSession()
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


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


def _where(error: Exception, file: Path) -> str:
    """The line of the user's file where it went wrong."""
    lines = [
        each.lineno
        for each in traceback.extract_tb(error.__traceback__)
        if Path(each.filename).resolve() == file.resolve()
    ]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    return f"{file}:{line}" if line else str(file)
