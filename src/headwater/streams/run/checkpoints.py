"""Checkpoints: ours, one folder for each query, named after pipeline, flow and version.

`<root>/<pipeline>/<flow>.v<n>/` holds Spark's files under `spark/` and the signature of the query that
made them. A query whose checkpoint cannot be taken on is refused, with the choices.
"""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from headwater.errors import Conflict
from headwater.streams.datasets import Flow
from headwater.streams.durable import make_folders, sync
from headwater.streams.run.signature import ANEW, Signature

OnChange = Literal["refuse", "keep"]
SIGNATURE_FILE = "signature.json"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The place of one query's progress and state."""

    folder: Path

    @property
    def query(self) -> str:
        """The name of the query: `shop.revenue`."""
        return f"{self.folder.parent.name}.{self.folder.name.rpartition('.v')[0]}"

    @property
    def spark(self) -> Path:
        return self.folder / "spark"

    @property
    def tables(self) -> Path:
        """What is known of topics that are read as tables, a folder for each."""
        return self.folder / "tables"

    @property
    def exists(self) -> bool:
        return (self.folder / SIGNATURE_FILE).exists()

    @property
    def has_run(self) -> bool:
        """Whether a batch was ever finished."""
        return any((self.spark / "commits").glob("[0-9]*"))

    @property
    def signature(self) -> Signature | None:
        """Of the query that made it; None if that was never written down."""
        file = self.folder / SIGNATURE_FILE
        return Signature.from_json(file.read_text()) if file.exists() else None

    @property
    def topic(self) -> str | None:
        """The topic that its query filled; None if that was never written down."""
        known = self.signature
        return None if known is None else known.topic

    def take_on(self, signature: Signature, flow: Flow, *, on_change: OnChange = "refuse") -> None:
        """Go on from here with this version of the query, or raise `Conflict` with the choices."""
        file = self.folder / SIGNATURE_FILE
        old = self.signature
        if old is not None:
            changes = signature.differences(old) if on_change == "refuse" else ()
            if changes:
                raise Conflict(
                    f"{flow.location}: the checkpoint of {flow.name!r} does not fit any more: "
                    + "; ".join(changes),
                    hint=_CHOICES.format(name=self.query),
                )
            signature = signature.remembering(old)
        if signature.output_mode == ANEW and self.spark.exists():
            self._forget_stream()
        make_folders(self.folder)
        temporary = file.with_suffix(".tmp")
        temporary.write_text(signature.to_json())
        sync(temporary)
        temporary.replace(file)
        sync(self.folder)

    def _forget_stream(self) -> None:
        """What is computed anew is in no batch: the last one of a stream would pin its tables for ever."""
        for each in self.tables.glob("*/[0-9]*.json"):
            each.unlink()
        shutil.rmtree(self.spark)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """All checkpoints under one root."""

    root: Path

    def of(self, pipeline: str, flow: str, version: int) -> Checkpoint:
        return Checkpoint(self.root / pipeline / f"{flow}.v{version}")

    def lock_of(self, pipeline: str) -> Path:
        """Beside its folder, which tells that it has run; no pipeline has a `~` in its name."""
        return self.root / f"{pipeline}~lock"

    def of_all_versions(self, pipeline: str, flow: str) -> Iterator[Checkpoint]:
        is_version = re.compile(rf"{re.escape(flow)}\.v\d+").fullmatch
        for each in self.of_pipeline(pipeline):
            if is_version(each.folder.name):
                yield each

    def pipelines(self) -> list[str]:
        """Those that have left checkpoints."""
        there = sorted(self.root.iterdir()) if self.root.exists() else []
        return [each.name for each in there if each.is_dir()]

    def of_pipeline(self, pipeline: str) -> Iterator[Checkpoint]:
        """Those of all its queries, also of queries that it has no more."""
        folder = self.root / pipeline
        for each in sorted(folder.iterdir()) if folder.exists() else ():
            yield Checkpoint(each)

    def knows(self, pipeline: str) -> bool:
        """Whether the pipeline ever ran with its checkpoints here."""
        return (self.root / pipeline).exists()


_CHOICES = (
    "(1) write a new version beside the old one: version=2; "
    "(2) forget the old results and begin again: headwater pipeline reset {name}; "
    "(3) go back to what it was, or run with --keep-checkpoint if you know that it fits"
)
