"""Which views a query means: `shop.revenue` and `revenue` in its text, outside of strings and comments."""

import re
from collections.abc import Collection
from typing import Final

_TOKEN: Final = re.compile(
    r"""(?P<string>'(?:[^']|'')*')
    | (?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))
    | (?P<quoted>"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\])
    | (?P<name>[^\W\d]\w*(?:\s*\.\s*[^\W\d]\w*)*)
    | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)


def name_views(text: str, known: Collection[str]) -> tuple[str, set[str]]:
    """The text with dotted names of views in quotes, and all names in it that may be of views."""
    found: set[str] = set()

    def replace(token: re.Match[str]) -> str:
        if token["quoted"]:
            found.add(token["quoted"][1:-1])
        if not token["name"]:
            return token[0]
        parts = re.split(r"\s*\.\s*", token["name"])
        found.add(parts[0])
        for count in range(len(parts), 1, -1):
            name = ".".join(parts[:count])
            if name in known:
                found.add(name)
                return ".".join([f'"{name}"', *parts[count:]])
        return token[0]

    return _TOKEN.sub(replace, text), found
