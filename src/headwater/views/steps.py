"""The way to a view: the queries between the topics that people write and the view's changelog."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """One query: it commits in `group` how far it has read, once its results are in `writes`."""

    reads: tuple[str, ...]
    group: str
    writes: str

    def to_json(self) -> dict[str, Any]:
        return {"reads": list(self.reads), "group": self.group, "writes": self.writes}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Step":
        """Raises `TypeError` or `KeyError` for what is none."""
        reads, group, writes = content["reads"], content["group"], content["writes"]
        if not isinstance(reads, list) or not all(
            isinstance(each, str) for each in (*reads, group, writes)
        ):
            raise TypeError("a step has a list of topics, a group and a topic")
        return cls(tuple(reads), group, writes)


def lead_to(topic: str, steps: Sequence[Step]) -> bool:
    """Whether what each of them writes is read by a later one, or is this topic."""
    wanted = {topic}
    for each in reversed(steps):
        if each.writes not in wanted:
            return False
        wanted.update(each.reads)
    return True
