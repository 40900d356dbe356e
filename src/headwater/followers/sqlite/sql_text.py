"""The names in the text of a query: `shop.revenue` is put in quotes where a view is meant by it.

Every pattern matches at its first try, and runs to the end of the text if its own end is missing: a text
takes time in proportion to its length, whatever is in it.
"""

import re
from collections.abc import Callable
from typing import Final

_TOKEN: Final = re.compile(
    r"""(?P<string>'[^']*+(?:''[^']*+)*+'?)
    | (?P<comment>--[^\n]*+|/\*(?s:.*?)(?:\*/|\Z))
    | (?P<quoted>"[^"]*+(?:""[^"]*+)*+"?|`[^`]*+(?:``[^`]*+)*+`?|\[[^\]]*+\]?)
    | (?P<name>[^\W\d]\w*+(?:\s*+\.\s*+[^\W\d]\w*+)*)""",
    re.VERBOSE,
)
_DOT: Final = re.compile(r"\s*\.\s*")
_EXPLAIN: Final = re.compile(r"(?is)(?:\s|--[^\n]*+|/\*.*?(?:\*/|\Z))*+explain\b")


def words_in(text: str) -> set[str]:
    """Everything that may be a name, outside of strings and comments: `a` of `a.b`."""
    found = set()
    for token in _TOKEN.finditer(text):
        if token["quoted"]:
            found.add(token["quoted"][1:-1])
        elif token["name"]:
            found.add(_DOT.split(token["name"], 1)[0])
    return found


def quote_dotted(text: str, view_of: Callable[[str], str | None], most_parts: int) -> str:
    """The text with dotted names of views in quotes; none of them has more than so many parts."""

    def replace(token: re.Match[str]) -> str:
        if not token["name"]:
            return token[0]
        parts = _DOT.split(token["name"], most_parts)
        for count in range(min(len(parts), most_parts), 1, -1):
            view = view_of(".".join(parts[:count]))
            if view is not None:
                return ".".join([f'"{view}"', *parts[count:]])
        return token[0]

    return _TOKEN.sub(replace, text)


def in_backticks(text: str) -> str:
    """The text with names in backticks instead of double quotes: SQLite never takes those for strings."""

    def replace(token: re.Match[str]) -> str:
        name = _in_double_quotes(token)
        return token[0] if name is None else f"`{name.replace('`', '``')}`"

    return _TOKEN.sub(replace, text)


def in_double_quotes(text: str) -> set[str]:
    """What stands in double quotes."""
    found = {_in_double_quotes(token) for token in _TOKEN.finditer(text)}
    return {each for each in found if each is not None}


def _in_double_quotes(token: re.Match[str]) -> str | None:
    quoted = token["quoted"] or ""
    is_whole = len(quoted) > 1 and quoted[0] == quoted[-1] == '"'
    return quoted[1:-1].replace('""', '"') if is_whole else None


def is_explained(text: str) -> bool:
    """Whether it begins with EXPLAIN."""
    return _EXPLAIN.match(text) is not None
