"""The table at the end: who was killed how often, and how far what came out is from what should have."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from under_fire.oracle import Difference


@dataclass(slots=True)
class Report:
    kills: Mapping[str, int]
    differences: dict[str, Difference] = field(default_factory=dict)

    def add(self, output: str, difference: Difference) -> None:
        self.differences[output] = difference

    @property
    def is_perfect(self) -> bool:
        return bool(self.differences) and all(e.is_none for e in self.differences.values())

    def table(self) -> str:
        killed = ", ".join(f"{kind} {times}" for kind, times in sorted(self.kills.items()))
        lines = [f"killed with SIGKILL: {killed or 'nobody'}", ""]
        heads = ("compared with DuckDB", "rows", "lost", "doubled", "different")
        rows = [
            (output, f"{e.rows:,}", f"{e.lost:,}", f"{e.doubled:,}", f"{e.different:,}")
            for output, e in self.differences.items()
        ]
        for first, *numbers in (heads, *rows):
            lines.append(f"{first:<38}" + "".join(f"{each:>12}" for each in numbers))
        return "\n".join(lines)
