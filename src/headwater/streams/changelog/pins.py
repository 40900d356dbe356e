"""Which offsets of a changelog a batch sees: its first task chooses, the others and a repetition follow.

Spark plans the static side of a query once and runs its tasks in every batch, so it is the tasks that ask.
"""

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

from headwater.errors import Corruption
from headwater.streams.durable import make_folders, sync

_KEPT: Final = 100
"""Pins of so many batches are kept; Spark itself repeats only the last."""


@dataclass(frozen=True, slots=True)
class Pin:
    """How far the topic reached, and which topic of that name it was."""

    topic_id: str
    """Empty if that is not known: pins of earlier versions do not say it."""
    ends: Mapping[int, int]
    """Partition -> the offset where the table ends."""
    at_ms: int = 0
    """When it did; 0 if that is not known."""

    def to_json(self) -> str:
        said = {"topic_id": self.topic_id, "ends": dict(self.ends), "at_ms": self.at_ms}
        return json.dumps(said)

    @classmethod
    def from_json(cls, text: str) -> "Pin":
        written = json.loads(text)
        ends = written.get("ends", written)
        return cls(
            written.get("topic_id", ""),
            {int(partition): end for partition, end in ends.items()},
            written.get("at_ms", 0),
        )


@dataclass(frozen=True, slots=True)
class Pins:
    """Files beside the checkpoint: `<batch id>.json`."""

    folder: Path
    checkpoint: Path
    """Spark's own folder of the query; its log of offsets says which batch is at hand."""

    def of_this_batch(self, now: Callable[[], Pin]) -> Pin:
        """The pin of the batch at hand; `now` is asked if nobody has yet."""
        batch = self._batch()
        if batch is None:
            return now()
        file = self.folder / f"{batch}.json"
        if not file.exists():
            self._propose(file, now())
            self._forget(batch - _KEPT)
        sync(self.folder)  # also if another task is about to: this one may be done before it
        try:
            return Pin.from_json(file.read_text())
        except ValueError as error:
            raise Corruption(
                f"{file} is damaged: what batch {batch} has seen of the topic is not known",
                hint="begin again: headwater pipeline reset",
            ) from error

    def _batch(self) -> int | None:
        names = [each.name for each in (self.checkpoint / "offsets").glob("[0-9]*")]
        return max((int(each) for each in names if each.isdecimal()), default=None)

    def _propose(self, file: Path, pin: Pin) -> None:
        """Tasks run at the same time: the first one counts."""
        make_folders(self.folder)
        proposal = file.with_suffix(f".{uuid4()}")
        proposal.write_text(pin.to_json())
        sync(proposal)
        with contextlib.suppress(FileExistsError):
            file.hardlink_to(proposal)
        proposal.unlink()

    def _forget(self, before: int) -> None:
        for each in self.folder.glob("[0-9]*.json"):
            if int(each.stem) < before:
                each.unlink(missing_ok=True)
