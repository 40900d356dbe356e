"""Where what the tests fetch from registries is kept between runs."""

import os
from pathlib import Path


def cache_directory() -> Path:
    """`HEADWATER_CACHE`, or `~/.cache/headwater`."""
    root = os.environ.get("HEADWATER_CACHE")
    return Path(root) if root else Path.home() / ".cache" / "headwater"
