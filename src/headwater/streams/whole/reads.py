"""How far the refresh at hand reads a topic, and how far the last one that was written did.

`reading.json` is made by the first read of a refresh, `read.json` is what it becomes once the refresh is
written. If one is lost, dead letters are written once more.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

from headwater.streams.changelog.pins import Pin
from headwater.streams.durable import make_folders

_READING: Final = "reading.json"
_READ: Final = "read.json"


@dataclass(frozen=True, slots=True)
class Reads:
    """Of one topic and one query."""

    folder: Path

    @classmethod
    def under(cls, tables: Path) -> Iterator["Reads"]:
        """Those of the refresh at hand."""
        for each in list(tables.glob(f"*/{_READING}")):
            yield cls(each.parent)

    def up_to(self, now: Callable[[], Pin]) -> Pin:
        """Where this refresh ends to read; `now` is asked if nobody has yet."""
        file = self.folder / _READING
        if not file.exists():
            make_folders(self.folder)
            proposal = self.folder / f"{uuid4()}.tmp"
            proposal.write_text(now().to_json())
            with contextlib.suppress(FileExistsError):
                file.hardlink_to(proposal)
            proposal.unlink()
        return Pin.from_json(file.read_text())

    def before(self) -> Pin | None:
        """Where the last refresh that was written had read to; None if that is not known."""
        file = self.folder / _READ
        try:
            return Pin.from_json(file.read_text())
        except (FileNotFoundError, ValueError):
            return None

    def done(self) -> None:
        (self.folder / _READING).replace(self.folder / _READ)

    def give_up(self) -> None:
        (self.folder / _READING).unlink(missing_ok=True)
