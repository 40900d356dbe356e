"""Find the pipelines in a user's files: every `Pipeline` at the top of a module."""

import importlib.util
import re
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Final

from headwater.errors import InvalidRequest, NotFound
from headwater.streams.pipeline import DEFAULT_FOLDER, Pipeline
from headwater.streams.specification import Specification, find_specification

_SPARK_PIPELINES: Final = re.compile(
    r"^\s*(from pyspark import .*\bpipelines\b|(from|import) pyspark\.pipelines\b)", re.MULTILINE
)


def find_pipelines(path: Path | None = None) -> list[Pipeline]:
    """The pipelines of a file or a folder; without a path, of `pipelines/` or `pipelines.py`.

    A folder with a `spark-pipeline.yml`, or that file itself, is one pipeline of Spark's own kind.
    """
    specification = find_specification(path)
    if specification is not None:
        return [_specified(specification)]
    files = _files(path)
    found: dict[str, Pipeline] = {}
    for file in files:
        for pipeline in _pipelines_of(file):
            other = found.setdefault(pipeline.name, pipeline)
            if other is not pipeline:
                raise InvalidRequest(
                    f"there are two pipelines {pipeline.name!r}, the second in {file}",
                    hint="give one of them another name",
                )
    if not found:
        raise NotFound(
            f"there is no pipeline in {_listed(files)}",
            hint='make one at the top of the file: shop = hw.Pipeline("shop")',
        )
    return list(found.values())


def _files(path: Path | None) -> list[Path]:
    places = [path] if path else [Path(DEFAULT_FOLDER), Path(f"{DEFAULT_FOLDER}.py")]
    for each in places:
        if each.is_file():
            return [each]
        if each.is_dir():
            files = sorted(each.glob("*.py"))
            if files:
                return files
    raise NotFound(
        f"there is no {' and no '.join(str(each) for each in places)}",
        hint="name the file: headwater pipeline run FILE",
    )


def _load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Spark's own runner gives every module its session by this name.
    vars(module)["spark"] = _LateSession()
    sys.modules[spec.name] = module
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except InvalidRequest as error:
        if f"{file.name}:" in error.what:
            raise
        raise InvalidRequest(f"{_where(error, file)}: {error.what}", error.hint) from error
    except Exception as error:
        raise InvalidRequest(f"{_where(error, file)}: {type(error).__name__}: {error}") from error
    return module


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


def _pipelines_of(file: Path) -> list[Pipeline]:
    if not _SPARK_PIPELINES.search(file.read_text(errors="replace")):
        return _pipelines_in(_load(file))
    from headwater.streams.declarative import collecting  # noqa: PLC0415  imports pyspark

    named_after_file = Pipeline(file.stem)
    with collecting(named_after_file):
        found = _pipelines_in(_load(file))
    return [*found, named_after_file]


def _specified(file: Path) -> Pipeline:
    specification = Specification.of(file)
    pipeline = Pipeline(specification.name)
    from headwater.streams.declarative import collecting  # noqa: PLC0415  imports pyspark

    with collecting(pipeline, specification.configuration):
        for each in specification.files:
            _load(each)
    return pipeline


def _pipelines_in(module: ModuleType) -> list[Pipeline]:
    found = {id(each): each for each in vars(module).values() if isinstance(each, Pipeline)}
    return list(found.values())


def _listed(files: list[Path]) -> str:
    return ", ".join(str(each) for each in files)
