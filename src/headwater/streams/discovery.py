"""Find the pipelines in a user's files: every `Pipeline` at the top of a module."""

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Final

from headwater.errors import InvalidRequest, NotFound
from headwater.streams.pipeline import DEFAULT_FOLDER, Pipeline
from headwater.streams.specification import Specification, find_specification
from headwater.streams.user_files import NeedsSpark, load

_SPARK_PIPELINES: Final = re.compile(
    r"^\s*(from pyspark import .*\bpipelines\b|(from|import) pyspark\.pipelines\b)", re.MULTILINE
)


def find_pipelines(
    path: Path | None = None, open_spark: Callable[[], object] | None = None
) -> list[Pipeline]:
    """The pipelines of a file or a folder; without a path, of `pipelines/` or `pipelines.py`.

    A folder with a `spark-pipeline.yml`, or that file itself, is one pipeline of Spark's own kind. If a
    file needs a session to be read, `open_spark` is called, and all are read again.
    """
    try:
        return _found(path)
    except NeedsSpark:
        if open_spark is None:
            raise
    open_spark()
    return _found(path)


def _found(path: Path | None) -> list[Pipeline]:
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


def _pipelines_of(file: Path) -> list[Pipeline]:
    if not _SPARK_PIPELINES.search(file.read_text(errors="replace")):
        return _pipelines_in(load(file))
    from headwater.streams.declarative import collecting  # noqa: PLC0415  imports pyspark

    named_after_file = Pipeline(file.stem)
    with collecting(named_after_file):
        found = _pipelines_in(load(file))
    return [*found, named_after_file]


def _specified(file: Path) -> Pipeline:
    specification = Specification.of(file)
    pipeline = Pipeline(specification.name)
    from headwater.streams.declarative import collecting  # noqa: PLC0415  imports pyspark

    with collecting(pipeline, specification.configuration):
        for each in specification.files:
            load(each)
    return pipeline


def _pipelines_in(module: ModuleType) -> list[Pipeline]:
    found = {id(each): each for each in vars(module).values() if isinstance(each, Pipeline)}
    return list(found.values())


def _listed(files: list[Path]) -> str:
    return ", ".join(str(each) for each in files)
