"""Find the pipelines in a user's files: every `Pipeline` at the top of a module."""

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Final

from headwater.errors import InvalidRequest, NotFound
from headwater.streams.pipeline import DEFAULT_FOLDER, Pipeline
from headwater.streams.specification import SQL, Specification, find_specification
from headwater.streams.user_files import NeedsSpark, load

_DECLARES: Final = re.compile(
    r"pipeline|headwater|\.(table|topic|changelog|(materialized_|temporary_)?view|append_flow)\b",
    re.IGNORECASE,
)
_IMPORTS: Final = re.compile(r"^\s*(?:from\s+\.*(\w*)|import\s+(.+))", re.MULTILINE)
_NAMES: Final = re.compile(r"(?:^|,)\s*(\w+)")
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
    is_named = path is not None and path.is_file()
    for file in files if is_named else _that_may_declare(files):
        for pipeline in _pipelines_of(file):
            other = found.setdefault(pipeline.name, pipeline)
            if other is not pipeline:
                raise InvalidRequest(
                    f"there are two pipelines {pipeline.name!r}, the second in {file}",
                    hint="give one of them another name",
                )
    if not found:
        raise NotFound(
            f"there is no pipeline in {path or _listed(files)}",
            hint='make one at the top of the file: shop = hw.Pipeline("shop")',
        )
    return list(found.values())


def _files(path: Path | None) -> list[Path]:
    places = [path] if path else [Path(DEFAULT_FOLDER), Path(f"{DEFAULT_FOLDER}.py")]
    for each in places:
        if each.is_file():
            return [each]
        if each.is_dir():
            files = sorted(file for file in each.glob("*.py") if _is_source(file))
            if files:
                return files
    what = "file of Python in" if path and path.is_dir() else ""
    raise NotFound(
        f"there is no {' and no '.join(f'{what} {each}'.strip() for each in places)}",
        hint="name the file: headwater pipeline run FILE",
    )


def _is_source(file: Path) -> bool:
    """Editors keep locks and copies beside a file, under a name with a dot, or a link to nowhere."""
    return file.is_file() and not file.name.startswith(".")


def _that_may_declare(files: list[Path]) -> list[Path]:
    """Without those that have nothing to do with pipelines: to read a file is to run it."""
    texts = {each: each.read_text(errors="replace") for each in files}
    found = {each for each, text in texts.items() if _DECLARES.search(text)}
    while True:
        known = {each.stem for each in found}
        more = {
            each for each in texts.keys() - found if not known.isdisjoint(_imported_by(texts[each]))
        }
        if not more:
            return [each for each in files if each in found]
        found |= more


def _imported_by(text: str) -> set[str]:
    """The first part of each name that is imported."""
    found = _IMPORTS.findall(text)
    return {name for module, names in found for name in (module, *_NAMES.findall(names))}


def _pipelines_of(file: Path) -> list[Pipeline]:
    is_sql = file.suffix == SQL
    if not is_sql and not _SPARK_PIPELINES.search(file.read_text(errors="replace")):
        return _pipelines_in(load(file))
    from headwater.streams.declarative import collecting, read  # noqa: PLC0415  imports pyspark

    named_after_file = _new_pipeline(file.stem, file)
    with collecting(named_after_file):
        module = read(file)
    return [*(_pipelines_in(module) if module else []), named_after_file]


def _specified(file: Path) -> Pipeline:
    specification = Specification.of(file)
    pipeline = _new_pipeline(specification.name, file)
    from headwater.streams.declarative import collecting, read  # noqa: PLC0415  imports pyspark

    with collecting(pipeline, specification.configuration):
        for each in specification.files:
            read(each)
    return pipeline


def _new_pipeline(name: str, file: Path) -> Pipeline:
    """Of the name that a file has, or gives."""
    try:
        return Pipeline(name)
    except InvalidRequest as error:
        raise InvalidRequest(f"{file}: {error.what}", error.hint) from error


def _pipelines_in(module: ModuleType) -> list[Pipeline]:
    found = {id(each): each for each in vars(module).values() if isinstance(each, Pipeline)}
    return list(found.values())


def _listed(files: list[Path]) -> str:
    return ", ".join(str(each) for each in files)
