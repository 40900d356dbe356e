"""The table of one partition at one offset, kept as an Arrow file: the next one is made from it."""

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.streams.durable import make_folders, sync

KEY: Final = "__headwater_key"
DELETED: Final = "__headwater_deleted"
"""Names of our own: rows may well have a column `_key` or `_deleted`."""
_OLD_NAMES: Final = ["_key", "_deleted"]
"""What earlier versions called them; they are the last two columns."""
_KEPT: Final = 3
_AT_MS: Final = b"headwater.at_ms"


class Snapshot(NamedTuple):
    """The rows of a partition up to an offset."""

    end: int
    at_ms: int
    """When the topic was seen to end there."""
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class Snapshots:
    """Files `<partition>-<end offset>.arrow`; any of them may be gone, then it is made again."""

    folder: Path
    schema: pa.Schema | None = None
    """Of the rows that are wanted: others are of the query as it was before an upgrade."""

    def of_topic(self, topic_id: str, schema: pa.Schema | None = None) -> "Snapshots":
        """Those of one topic: an offset of it means nothing in another of the same name."""
        own = Snapshots(self.folder / topic_id, schema)
        for each in self.folder.glob("*-*.arrow"):  # from before topics were told apart
            own.folder.mkdir(exist_ok=True)
            with contextlib.suppress(FileNotFoundError):  # another task was faster
                each.rename(own.folder / each.name)
        return own

    def forget_other_topics(self, topic_id: str) -> None:
        for each in self.folder.iterdir() if self.folder.exists() else ():
            if each.is_dir() and each.name != topic_id:
                shutil.rmtree(each, ignore_errors=True)

    def at(self, partition: int, end: int) -> Snapshot | None:
        return self._fitting(end, self._file(partition, end))

    def before(self, partition: int, end: int) -> Snapshot | None:
        """The newest one that ends before `end`."""
        for offset, file in sorted(self._all(partition), reverse=True):
            found = self._fitting(offset, file) if offset < end else None
            if found is not None:
                return found
        return None

    def keep(self, partition: int, snapshot: Snapshot) -> None:
        make_folders(self.folder)
        file = self._file(partition, snapshot.end)
        temporary = file.with_suffix(f".{uuid4()}")
        rows = snapshot.rows.replace_schema_metadata({_AT_MS: str(snapshot.at_ms)})
        with pa.ipc.new_file(str(temporary), rows.schema) as writer:
            writer.write_table(rows)
        sync(temporary)
        temporary.replace(file)
        sync(self.folder)
        for _, old in sorted(self._all(partition), reverse=True)[_KEPT:]:
            old.unlink(missing_ok=True)

    def _fitting(self, end: int, file: Path) -> Snapshot | None:
        try:
            found = _read(end, file)
        except FileNotFoundError:
            return None
        except pa.ArrowInvalid:  # earlier versions did not sync it, and the power was cut
            file.unlink(missing_ok=True)
            return None
        return found if self.schema is None or found.rows.schema == self.schema else None

    def _file(self, partition: int, end: int) -> Path:
        return self.folder / f"{partition}-{end}.arrow"

    def _all(self, partition: int) -> Iterator[tuple[int, Path]]:
        for each in self.folder.glob(f"{partition}-*.arrow"):
            yield int(each.stem.partition("-")[2]), each


def collapse(changes: pa.Table) -> pa.Table:
    """Keep the last row of each key, in the order of the log; rows of deleted keys go."""
    numbered = changes.select([KEY]).append_column("row", pa.array(np.arange(changes.num_rows)))
    last = numbered.group_by(KEY).aggregate([("row", "max")])["row_max"].combine_chunks()
    kept = changes.take(last.sort())
    return kept.filter(pc.invert(kept[DELETED]))


def _read(end: int, file: Path) -> Snapshot:
    with pa.memory_map(str(file)) as source:
        rows = pa.ipc.open_file(source).read_all()
    names = rows.schema.names
    if names[-2:] == _OLD_NAMES:
        rows = rows.rename_columns([*names[:-2], KEY, DELETED])
    # Earlier versions did not say it; they wrote the file soon after they had looked.
    written_ms = int(file.stat().st_mtime * 1000)
    at_ms = (rows.schema.metadata or {}).get(_AT_MS, written_ms)
    return Snapshot(end, int(at_ms), rows.replace_schema_metadata(None))
