"""Where the server of views is: the address given, that of the environment, this folder's, or localhost.

`headwater view serve` and `headwater serve --http` leave `.headwater/views/views.json` in their folder:
`{"http": "http://127.0.0.1:9090", "pid": 4711}`.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from headwater.errors import InvalidRequest

VIEWS_FILE = Path(".headwater") / "views" / "views.json"
DEFAULT_URL = "http://127.0.0.1:9090"


@dataclass(frozen=True, slots=True)
class ViewAddress:
    host: str
    port: int
    is_encrypted: bool
    path: str
    """What stands before `/v1`, behind a proxy."""
    origin: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' * self.is_encrypted}://{host}:{self.port}{self.path}"


def find_view_address(url: str | None = None, *, folder: Path | None = None) -> ViewAddress:
    if url is not None:
        return _parse(url, "given")
    from_environment = os.environ.get("HEADWATER_VIEWS_URL")
    if from_environment:
        return _parse(from_environment, "HEADWATER_VIEWS_URL")
    here = folder or Path.cwd()
    for parent in (here, *here.parents):
        file = parent / VIEWS_FILE
        try:
            content = file.read_text()
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
        try:
            return _parse(json.loads(content)["http"], str(file))
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidRequest(
                f"{file} does not name a server of views",
                hint="remove it and start the server again: headwater view serve",
            ) from error
    return _parse(DEFAULT_URL, "default")


def _parse(url: str, origin: str) -> ViewAddress:
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:  # brackets without an end, a port that is none
        raise _no_address(url) from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise _no_address(url)
    return ViewAddress(
        parts.hostname, port, parts.scheme == "https", parts.path.rstrip("/"), origin
    )


def _no_address(url: str) -> InvalidRequest:
    return InvalidRequest(
        f"{url!r} is not the address of a server of views",
        hint="write, for example, http://127.0.0.1:9090",
    )
