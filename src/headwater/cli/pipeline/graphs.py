"""The pipelines of a path as checked graphs: what is wrong in them is told before anything is reached."""

from pathlib import Path
from typing import TYPE_CHECKING

from headwater.cli.pipeline.place import require_spark

if TYPE_CHECKING:
    from headwater.streams.graph import Graph


def graphs_of(path: Path | None) -> "list[Graph]":
    require_spark()
    from headwater.streams.discovery import find_pipelines  # noqa: PLC0415

    return [pipeline.graph() for pipeline in find_pipelines(path)]
