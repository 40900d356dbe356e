"""Find the pipelines in a user's files: every `Pipeline` at the top of a module."""

import re
from pathlib import Path
from types import ModuleType
from typing import Final

from headwater.errors import InvalidRequest, NotFound
from headwater.streams.pipeline import DEFAULT_FOLDER, Pipeline
from headwater.streams.specification import Specification, find_specification
from headwater.streams.user_files import OpenSpark, load

_SPARK_PIPELINES: Final = re.compile(
    r"^\s*(from pyspark import .*\bpipelines\b|(from|import) pyspark\.pipelines\b)", re.MULTILINE
)


def find_pipelines(path: Path | None = None, open_spark: OpenSpark | None = None) -> list[Pipeline]:
    """The pipelines of a file or a folder; without a path, of `pipelines/` or `pipelines.py`.

    A folder with a `spark-pipeline.yml`, or that file itself, is one pipeline of Spark's own kind.
    `open_spark` is called for a file that cannot be read without a session.
    """
    specification = find_specification(path)
    if specification is not None:
        return [_specified(specification, open_spark)]
    files = _files(path)
    found: dict[str, Pipeline] = {}
    for file in files:
        for pipeline in _pipelines_of(file, open_spark):
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


def _pipelines_of(file: Path, open_spark: OpenSpark | None) -> list[Pipeline]:
    if not _SPARK_PIPELINES.search(file.read_text(errors="replace")):
        return _pipelines_in(load(file, open_spark))
    from headwater.streams.declarative import collecting  # noqa: PLC0415  imports pyspark

    named_after_file = Pipeline(file.stem)
    with collecting(named_after_file):
        found = _pipelines_in(load(file, open_spark))
    return [*found, named_after_file]


def _specified(file: Path, open_spark: OpenSpark | None) -> Pipeline:
    specification = Specification.of(file)
    pipeline = Pipeline(specification.name)
    from headwater.streams.declarative import collecting  # noqa: PLC0415  imports pyspark

    with collecting(pipeline, specification.configuration):
        for each in specification.files:
            load(each, open_spark)
    return pipeline


def _pipelines_in(module: ModuleType) -> list[Pipeline]:
    found = {id(each): each for each in vars(module).values() if isinstance(each, Pipeline)}
    return list(found.values())


def _listed(files: list[Path]) -> str:
    return ", ".join(str(each) for each in files)
