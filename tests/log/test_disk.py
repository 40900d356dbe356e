"""The real disk: partial writes, replacement, and what a reader gets."""

import os
import resource
from pathlib import Path

import pytest

from headwater.log.disk import LocalDisk, LocalFile


def test_everything_is_written_when_the_system_writes_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.pwritev

    def a_little(descriptor: int, buffers: list[memoryview], position: int) -> int:
        return real(descriptor, [buffers[0][:3]], position)

    monkeypatch.setattr(os, "pwritev", a_little)
    file = LocalFile(tmp_path / "a")

    assert file.append([b"hello ", b"world"]) == 11
    assert bytes(file.read(100, 0)) == b"hello world"


def test_replace_is_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = LocalDisk()
    disk.replace(tmp_path / "a", b"old")

    def fail(*_: object) -> None:
        raise OSError(5, "no")

    monkeypatch.setattr(LocalFile, "sync", fail)
    with pytest.raises(OSError, match="no"):
        disk.replace(tmp_path / "a", b"new")

    assert disk.read_bytes(tmp_path / "a") == b"old"


def test_reader_of_a_removed_file_goes_on(tmp_path: Path) -> None:
    disk = LocalDisk()
    file = disk.open(tmp_path / "a")
    file.append([b"still here"])
    disk.remove(tmp_path / "a")

    assert bytes(file.read(100, 0)) == b"still here"


def test_append_after_truncate_continues_there(tmp_path: Path) -> None:
    file = LocalDisk().open(tmp_path / "a")
    file.append([b"0123456789"])
    file.truncate(4)
    file.append([b"x"])

    assert bytes(file.read(100, 0)) == b"0123x"


def test_a_directory_is_synced_though_no_more_files_can_be_opened(tmp_path: Path) -> None:
    disk = LocalDisk()
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (_next_descriptor() + 20, before[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            _take_all_files(taken)
        for _ in range(2):
            disk.sync_directory(tmp_path)
    finally:
        for each in taken:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _take_all_files(taken: list[int]) -> None:
    while True:
        taken.append(os.open(os.devnull, os.O_RDONLY))


def _next_descriptor() -> int:
    descriptor = os.open(os.devnull, os.O_RDONLY)
    os.close(descriptor)
    return descriptor
