"""Which offsets of a changelog a batch sees: chosen when it is planned, the same when it is repeated."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_KEPT: Final = 100
"""Pins of so many batches are kept; Spark itself repeats only the last."""

Ends = Mapping[int, int]
"""Partition -> the offset where the table ends."""


@dataclass(frozen=True, slots=True)
class Pins:
    """Files beside the checkpoint: `<batch id>.json`."""

    folder: Path
    checkpoint: Path
    """Spark's own folder of the query; its log of offsets says which batch is being planned."""

    def ends(self, now: Callable[[], Ends]) -> Ends:
        """The ends of the batch at hand; `now` is asked if it is planned for the first time."""
        batch = self._batch()
        if batch is None:
            return now()
        file = self.folder / f"{batch}.json"
        try:
            return {int(place): end for place, end in json.loads(file.read_text()).items()}
        except FileNotFoundError:
            ends = now()
            self._write(file, ends)
            self._forget(batch - _KEPT)
            return ends

    def _batch(self) -> int | None:
        names = [each.name for each in (self.checkpoint / "offsets").glob("[0-9]*")]
        return max((int(each) for each in names if each.isdecimal()), default=None)

    def _write(self, file: Path, ends: Ends) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = file.with_suffix(".tmp")
        temporary.write_text(json.dumps(dict(ends)))
        temporary.replace(file)

    def _forget(self, before: int) -> None:
        for each in self.folder.glob("[0-9]*.json"):
            if int(each.stem) < before:
                each.unlink(missing_ok=True)
