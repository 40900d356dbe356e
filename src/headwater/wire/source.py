"""Python source being written for one struct in one version, and compiled.

Neighbouring fixed-size fields become one `struct` call. What is written is made of our own schema only
(`schema.py`), never of bytes from the wire.
"""

import struct
from collections.abc import Sequence
from typing import Any, Final

from headwater.wire.schema import Field, Struct

FORMATS: Final = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint16": "H",
    "uint32": "I",
    "float64": "d",
    "uuid": "16s",
}


class Source:
    """Lines of Python being written for one struct in one version."""

    def __init__(self, cls: type[Struct], version: int, *, flexible: bool) -> None:
        self.cls = cls
        self.version = version
        self.flexible = flexible
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {}
        present = [each for each in cls.fields if each.is_in(version)]
        self.plain = [each for each in present if each.tag is None]
        self.tagged = [each for each in present if each.tag is not None] if flexible else []

    def bind(self, value: Any, hint: str) -> str:
        name = f"{hint}{len(self.scope)}"
        self.scope[name] = value
        return name

    def write(self, line: str, depth: int = 1) -> None:
        self.lines.append("    " * depth + line)

    def fixed_runs(self) -> list[list[Field]]:
        """Group neighbouring fixed-size fields; any other field is a group of its own."""
        runs: list[list[Field]] = []
        for each in self.plain:
            if is_fixed(each) and runs and is_fixed(runs[-1][0]):
                runs[-1].append(each)
            else:
                runs.append([each])
        return runs

    def packer(self, fields: Sequence[Field]) -> struct.Struct:
        return struct.Struct(">" + "".join(FORMATS[str(each.kind)] for each in fields))

    def finish(self, head: str) -> Any:
        source = "\n".join([head, *self.lines])
        exec(compile(source, f"<{self.cls.__name__} v{self.version}>", "exec"), self.scope)  # noqa: S102
        return self.scope["run"]


def is_fixed(each: Field) -> bool:
    return isinstance(each.kind, str) and each.kind in FORMATS
