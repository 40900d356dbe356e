"""Rows of an atomic batch between the tasks that make them and the driver that writes them.

    <staging>/<batch>/<task>-<attempt>.arrow

Only files that the driver is told of count; what dead attempts leave is removed with the next batch.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from uuid import uuid4

import pyarrow as pa
from pyarrow import fs, ipc

from headwater.errors import InvalidRequest, Unavailable
from headwater.streams.sink.records import COLUMNS


class Staging:
    """A folder that the driver and all tasks reach: a path, or an address that Arrow knows (s3://, ...)."""

    def __init__(self, folder: str) -> None:
        self._files: fs.FileSystem = fs.LocalFileSystem()
        self._folder = folder
        try:
            if ":/" in folder:
                self._files, self._folder = fs.FileSystem.from_uri(folder)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InvalidRequest(
                f"rows cannot be staged in {folder!r}: {error}",
                hint="set stagingDirectory to a folder that driver and tasks share",
            ) from error

    def write(self, batch_id: int, task: int, batches: Iterable[pa.RecordBatch]) -> str:
        """Keep the rows of one attempt of a task; returns the name of its file."""
        name = f"{batch_id}/{task}-{uuid4().hex}.arrow"
        with self._translated("stage rows"):
            self._files.create_dir(f"{self._folder}/{batch_id}", recursive=True)
            with (
                self._files.open_output_stream(f"{self._folder}/{name}") as file,
                ipc.new_stream(file, COLUMNS) as stream,
            ):
                for each in batches:
                    stream.write_batch(each)
        return name

    def read(self, name: str) -> Iterator[pa.RecordBatch]:
        with (
            self._translated("read staged rows"),
            self._files.open_input_stream(f"{self._folder}/{name}") as file,
            ipc.open_stream(file) as stream,
        ):
            yield from stream

    def remove_batches(self, up_to: int) -> None:
        """Remove all that was staged for batches up to this one."""
        with self._translated("clear staged rows"):
            selector = fs.FileSelector(self._folder, allow_not_found=True)
            for each in self._files.get_file_info(selector):
                if each.base_name.isdecimal() and int(each.base_name) <= up_to:
                    self._files.delete_dir(each.path)

    @contextmanager
    def _translated(self, doing: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise Unavailable(
                f"cannot {doing} in {self._folder}: {error.strerror or error}",
                hint="is there room on the disk, and do driver and tasks share this folder?",
            ) from error
