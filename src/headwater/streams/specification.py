"""`spark-pipeline.yml`: the file that names a pipeline of Spark's own kind and where its sources are."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from headwater.errors import InvalidRequest, NotFound
from headwater.streams.pipeline import DEFAULT_FOLDER

PYTHON, SQL = ".py", ".sql"
NAMES: Final = ("spark-pipeline.yml", "spark-pipeline.yaml")
_FIELDS: Final = ("name", "storage", "catalog", "database", "schema", "configuration", "libraries")
"""As Spark has them; where results and checkpoints are kept is for our profile to say."""


def find_specification(path: Path | None) -> Path | None:
    """The specification that `path` is or holds; without a path, that of this folder."""
    if path is not None and path.suffix in (".yml", ".yaml"):
        if not path.is_file():
            raise NotFound(f"there is no {path}")
        return path
    if path is None and any(Path(each).exists() for each in (DEFAULT_FOLDER, "pipelines.py")):
        return None
    folder = path or Path()
    return next((folder / each for each in NAMES if (folder / each).is_file()), None)


@dataclass(frozen=True, slots=True)
class Specification:
    name: str
    files: tuple[Path, ...]
    configuration: Mapping[str, str]
    """Spark settings for every query."""

    @classmethod
    def of(cls, file: Path) -> "Specification":
        import yaml  # noqa: PLC0415  part of the spark extra

        try:
            fields = yaml.safe_load(file.read_text())
        except UnicodeDecodeError as error:
            raise InvalidRequest(f"{file} is not text in UTF-8") from error
        except yaml.YAMLError as error:
            reason = " ".join(str(error).split())
            raise InvalidRequest(f"{file} is not YAML: {reason}") from error
        if not isinstance(fields, dict) or not isinstance(fields.get("name"), str):
            raise InvalidRequest(
                f"{file} does not name its pipeline", hint="add a line: name: shop"
            )
        unknown = sorted(map(str, fields.keys() - set(_FIELDS)))
        if unknown:
            raise InvalidRequest(
                f"{file} has an unknown field {unknown[0]!r}", hint=f"fields: {', '.join(_FIELDS)}"
            )
        configuration = fields.get("configuration") or {}
        if not isinstance(configuration, dict):
            raise InvalidRequest(
                f"{file} has a configuration that is no mapping of settings to values",
                hint='configuration: {"spark.sql.shuffle.partitions": "8"}',
            )
        return cls(
            name=fields["name"],
            files=tuple(_files(file, fields.get("libraries") or [])),
            configuration={str(name): str(value) for name, value in configuration.items()},
        )


def _files(file: Path, libraries: Any) -> Iterator[Path]:
    found: list[Path] = []
    for each in libraries if isinstance(libraries, list) else [libraries]:
        try:
            include = str(each["glob"]["include"])
        except (TypeError, KeyError) as error:
            raise InvalidRequest(
                f"{file} has a library without a glob",
                hint="libraries: [{glob: {include: transformations/**}}]",
            ) from error
        if not include or Path(include).is_absolute():
            raise InvalidRequest(
                f"{file} has a glob {include!r} that does not begin at its folder",
                hint="name files beside it: transformations/**",
            )
        pattern = f"{include}/*" if Path(include).name == "**" else include
        found += sorted(each for each in file.parent.glob(pattern) if each.is_file())
    if not found:
        raise NotFound(f"{file} names no file that exists", hint="see its field libraries")
    yield from (each for each in found if each.suffix in (PYTHON, SQL))
