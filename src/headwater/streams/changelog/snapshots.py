"""The table of one partition at one offset, kept as an Arrow file: the next one is made from it."""

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

KEY: Final = "_key"
DELETED: Final = "_deleted"
_KEPT: Final = 3


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

    def at(self, partition: int, end: int) -> pa.Table | None:
        file = self._file(partition, end)
        return self._fitting(file) if file.exists() else None

    def before(self, partition: int, end: int) -> tuple[int, pa.Table | None]:
        """The newest one that ends before `end`: its end, and its rows."""
        for offset, file in sorted(self._all(partition), reverse=True):
            table = self._fitting(file) if offset < end else None
            if table is not None:
                return offset, table
        return 0, None

    def keep(self, partition: int, end: int, table: pa.Table) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self._file(partition, end)
        temporary = file.with_suffix(f".{uuid4()}")
        with pa.ipc.new_file(str(temporary), table.schema) as writer:
            writer.write_table(table)
        temporary.replace(file)
        for _, old in sorted(self._all(partition), reverse=True)[_KEPT:]:
            old.unlink(missing_ok=True)

    def _fitting(self, file: Path) -> pa.Table | None:
        table = _read(file)
        return table if self.schema is None or table.schema == self.schema else None

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


def _read(file: Path) -> pa.Table:
    with pa.memory_map(str(file)) as source:
        return pa.ipc.open_file(source).read_all()
