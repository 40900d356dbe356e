"""The pipelines of a path as checked graphs: what is wrong in them is told before anything is reached."""

from pathlib import Path
from typing import TYPE_CHECKING

from headwater.cli.pipeline.place import LOCAL_SPARK, require_spark
from headwater.cli.session import Session

if TYPE_CHECKING:
    from headwater.streams.graph import Graph


def graphs_of(session: Session, path: Path | None) -> "list[Graph]":
    require_spark()
    from headwater.streams.discovery import find_pipelines  # noqa: PLC0415

    def open_spark() -> None:
        from headwater.streams.session import open_session  # noqa: PLC0415

        profile = session.chosen_profile()
        open_session("headwater", master=profile.spark or LOCAL_SPARK, conf=profile.spark_conf)

    return [pipeline.graph() for pipeline in find_pipelines(path, open_spark)]
