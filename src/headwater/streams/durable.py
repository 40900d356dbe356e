"""What must outlast a power cut: synced before it gets its name, and the name after that."""

import os
from pathlib import Path


def make_folders(folder: Path) -> None:
    """Make a folder and those above it; all of them stay."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        sync(each.parent)


def sync(path: Path) -> None:
    """Of a file, its bytes; of a folder, the names in it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
