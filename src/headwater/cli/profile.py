"""Profiles: names for other clusters, in the `headwater.toml` of this folder or of a parent.

    [profiles.prod]
    kafka = "broker1:9092,broker2:9092"
    options = { "security.protocol" = "SSL" }     # librdkafka's, when the cluster needs them
    spark = "spark://master:7077"                 # where pipelines run; default: this machine
    spark_conf = { "spark.executor.memory" = "4g" }
    state = "/shared/headwater"                   # checkpoints; driver and executors see this folder
    views = "https://views.example"               # where its views are served

`local` is always there: it is the broker of this folder.
"""

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from headwater.errors import InvalidRequest, NotFound

FILE_NAME = "headwater.toml"


@dataclass(frozen=True, slots=True)
class Profile:
    name: str
    kafka: str | None = None
    """Addresses as `connect()` takes them; None is the broker of this folder."""
    options: Mapping[str, Any] = field(default_factory=dict)
    spark: str | None = None
    """Spark's master; None is this machine."""
    spark_conf: Mapping[str, str] = field(default_factory=dict)
    state: str | None = None
    """Where pipelines keep their checkpoints; None is `.headwater/pipelines` of this folder."""
    views: str | None = None
    """Address of the server of views; None is the one of this folder."""


def find_profile(name: str, folder: Path | None = None) -> Profile:
    """The profile of that name; raises NotFound, with the nearest name as hint."""
    path = _find_file(folder or Path.cwd())
    profiles = _read(path) if path else {}
    if name in profiles:
        return _profile(name, profiles[name], path)
    if name == "local":
        return Profile("local")
    near = difflib.get_close_matches(name, [*profiles, "local"], n=1)
    raise NotFound(
        what=f"there is no profile {name!r} in {path or FILE_NAME}",
        hint=f"did you mean {near[0]!r}?"
        if near
        else f'add to {FILE_NAME}: [profiles.{name}] kafka = "host:9092"',
    )


def _find_file(folder: Path) -> Path | None:
    candidates = (parent / FILE_NAME for parent in (folder, *folder.parents))
    return next((path for path in candidates if path.is_file()), None)


def _read(path: Path) -> dict[str, Any]:
    try:
        profiles = tomllib.loads(path.read_text()).get("profiles", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidRequest(what=f"{path} is not TOML: {error}") from error
    if not isinstance(profiles, dict):
        raise InvalidRequest(what=f"{path}: profiles is not a table", hint="write [profiles.NAME]")
    return profiles


def _profile(name: str, content: Any, path: Path | None) -> Profile:
    written = content if isinstance(content, dict) else {"kafka": content}
    _refuse_unknown(name, written, path)
    texts = {each: written.get(each) for each in ("kafka", "spark", "state", "views")}
    tables = {each: written.get(each, {}) for each in ("options", "spark_conf")}
    are_right = isinstance(content, dict) and all(
        isinstance(each, dict) for each in tables.values()
    )
    if not are_right or not isinstance(texts["kafka"], str | None):
        raise InvalidRequest(
            what=f"{path}: profile {name!r} does not name a broker",
            hint=f'write: [profiles.{name}] kafka = "host:9092"',
        )
    for each, value in texts.items():
        if not isinstance(value, str | None):
            raise InvalidRequest(
                what=f"{path}: {each} of profile {name!r} is not text",
                hint=f'write: {each} = "{_EXAMPLES[each]}"',
            )
    conf = {each: _conf(value) for each, value in tables["spark_conf"].items()}
    return Profile(name, options=tables["options"], spark_conf=conf, **texts)


def _refuse_unknown(name: str, written: Mapping[str, Any], path: Path | None) -> None:
    """With `kafak = ...` passed over, a command would be run on the broker of this folder."""
    known = [each.name for each in fields(Profile) if each.name != "name"]
    unknown = [each for each in written if each not in known]
    if unknown:
        near = difflib.get_close_matches(unknown[0], known, n=1)
        raise InvalidRequest(
            what=f"{path}: profile {name!r} has an unknown setting {unknown[0]!r}",
            hint=f"did you mean {near[0]}?" if near else f"known settings: {', '.join(known)}",
        )


def _conf(value: Any) -> str:
    """Spark's settings are text; TOML's `true` is its `true`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


_EXAMPLES = {
    "spark": "spark://master:7077",
    "state": "/shared/headwater",
    "views": "http://host:9090",
}
