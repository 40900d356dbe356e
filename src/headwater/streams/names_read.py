"""The names by which a body asks for its inputs (`spark.read.table("orders")`), told without running it.

Planning finds them all, as Spark does. This is for who draws a pipeline without Spark: it sees the calls of
`.table` and `.sql` with a text, or with a name that stands for one around the function, also in functions
of the same file that the body uses. A name that is made up while the body runs stays unknown.
"""

import dis
import inspect
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from types import CellType, CodeType, FunctionType
from typing import Any, Final, Protocol, runtime_checkable

from headwater.streams.datasets import Body

_RELATION: Final = re.compile(r"\b(?:from|join)\s+(?:stream\b\s*\(?\s*)?([\w.`]+)", re.IGNORECASE)
_ATTRIBUTE: Final = ("LOAD_ATTR", "LOAD_METHOD")
_NAME: Final = ("LOAD_GLOBAL", "LOAD_DEREF")


@runtime_checkable
class Query(Protocol):
    """A body that knows what it reads: a statement in SQL."""

    @property
    def relations(self) -> tuple[str, ...]: ...


def names_read(body: Body) -> tuple[str, ...]:
    """Without catalog and schema, in their order, each once; some may be of no dataset."""
    named = body.relations if isinstance(body, Query) else _of_function(inspect.unwrap(body), set())
    return tuple(dict.fromkeys(each.replace("`", "").rpartition(".")[2] for each in named))


def _of_function(body: Any, seen: set[CodeType]) -> Iterator[str]:
    if not isinstance(body, FunctionType) or body.__code__ in seen:
        return
    seen.add(body.__code__)
    around = _known_to(body)
    for code in _with_inner(body.__code__):
        yield from _asked_for(code, around)
        for each in dis.get_instructions(code):
            used = around.get(each.argval) if each.opname in _NAME else None
            if isinstance(used, FunctionType) and used.__globals__ is body.__globals__:
                yield from _of_function(used, seen)


def _asked_for(code: CodeType, around: Mapping[str, object]) -> Iterator[str]:
    """Of each call of `.table` or `.sql`, what its first argument names."""
    for method, argument in pairwise(dis.get_instructions(code)):
        if method.opname not in _ATTRIBUTE or method.argval not in ("table", "sql"):
            continue
        is_constant = argument.opname == "LOAD_CONST"
        text = argument.argval if is_constant else around.get(str(argument.argval))
        if isinstance(text, str):
            yield from [text] if method.argval == "table" else _RELATION.findall(text)


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of those within it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _with_inner(each)


def _known_to(body: FunctionType) -> dict[str, object]:
    """What stands for a name in a function: of its file, of what is around it, of its defaults."""
    parameters = inspect.signature(body).parameters.values()
    cells = zip(body.__code__.co_freevars, body.__closure__ or (), strict=True)
    return {
        **body.__globals__,
        **{name: cell.cell_contents for name, cell in cells if cell != _EMPTY},
        **{each.name: each.default for each in parameters},
    }


_EMPTY: Final = CellType()
"""Around a function: a name without a value yet."""
