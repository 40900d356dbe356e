"""How far an import came, noted beside its file, so that the next import goes on from there.

The note holds a checksum of the bytes before the place: who resumes reads them again, and refuses a file
that begins otherwise. What follows the place may change, so a broken line can be mended.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO

from headwater.errors import Conflict

_PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """Between two lines of a file, with what stands before it."""

    lines: int
    bytes: int
    sha256: str


class Lines:
    """The lines of a file in chunks, and the place after the last one."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._digest = sha256()
        self._bytes = 0
        self.count = 0

    @property
    def place(self) -> Place:
        return Place(self.count, self._bytes, self._digest.hexdigest())

    def skip_to(self, place: Place) -> bool:
        """Go there; False if the file does not begin with what was noted."""
        while piece := self._file.read(min(_PIECE_BYTES, place.bytes - self._bytes)):
            self._note(piece)
        self.count = place.lines
        return self.place == place

    def chunks(self, size: int) -> Iterator[list[bytes]]:
        chunk: list[bytes] = []
        for line in self._file:
            chunk.append(line)
            if len(chunk) == size:
                yield self._counted(chunk)
                chunk = []
        if chunk:
            yield self._counted(chunk)

    def _counted(self, chunk: list[bytes]) -> list[bytes]:
        self._note(b"".join(chunk))
        self.count += len(chunk)
        return chunk

    def _note(self, piece: bytes) -> None:
        self._digest.update(piece)
        self._bytes += len(piece)


class Note:
    """`FILE.progress`: there from the first chunk of an import to its end."""

    def __init__(self, file: Path, topic: str) -> None:
        self.path = file.with_name(f"{file.name}.progress")
        self._new = file.with_name(f"{file.name}.progress.new")
        self._topic = topic

    def is_writable(self) -> bool:
        """Found out by writing: a folder may say yes and be of a kind that takes no files."""
        try:
            self._new.write_bytes(b"")
            self._new.unlink()
        except OSError:
            return False
        return True

    def read(self) -> Place | None:
        try:
            found = json.loads(self.path.read_text())
            topic = str(found["topic"])
            place = Place(int(found["lines"]), int(found["bytes"]), str(found["sha256"]))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            # An earlier version noted no checksum: its note may be that of any file.
            raise Conflict(
                what=f"{self.path} does not say which file it belongs to",
                hint="remove it, or begin again with --restart",
            ) from error
        if topic != self._topic:
            raise Conflict(
                what=f"{self.path} belongs to an unfinished import into {topic!r}",
                hint="finish that one, or begin again with --restart",
            )
        return place

    def write(self, place: Place) -> bool:
        """Whether it was written; if not, the one before still holds."""
        try:
            self._new.write_text(json.dumps({"topic": self._topic, **asdict(place)}))
            self._new.replace(self.path)
        except OSError:
            with suppress(OSError):
                self._new.unlink()
            return False
        return True

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
