"""The names of a partition's files: twenty digits and a suffix, so that they sort by offset."""

import re
from dataclasses import dataclass
from pathlib import Path

_LOG = re.compile(r"(\d{20})\.log")
_SNAPSHOT = re.compile(r"(\d{20})\.snapshot")
_SWAP = re.compile(r"(\d{20})-(\d{20})\.swap")


@dataclass(frozen=True, slots=True)
class Swap:
    """A durable replacement for all segments with a base in [base_offset, end_offset)."""

    base_offset: int
    end_offset: int

    @property
    def name(self) -> str:
        return f"{self.base_offset:020d}-{self.end_offset:020d}.swap"

    @classmethod
    def among(cls, names: list[str]) -> "list[Swap]":
        found = [match for each in names if (match := _SWAP.fullmatch(each))]
        return [cls(int(match[1]), int(match[2])) for match in found]


def log_bases(names: list[str]) -> list[int]:
    return sorted(int(match[1]) for each in names if (match := _LOG.fullmatch(each)))


def snapshot_offsets(names: list[str]) -> list[int]:
    return sorted(int(match[1]) for each in names if (match := _SNAPSHOT.fullmatch(each)))


def snapshot_path(directory: Path, offset: int) -> Path:
    return directory / f"{offset:020d}.snapshot"
