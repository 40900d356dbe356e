"""Whether a batch may have been written in part: what Spark has written down in a query's checkpoint."""

from pathlib import Path


def is_within_batch(checkpoint: Path) -> bool:
    """Whether a batch was begun that is not finished.

    Spark notes a batch in `offsets` before its tasks start, and in `commits` once the sink is done with it.
    """
    return _newest(checkpoint / "offsets") != _newest(checkpoint / "commits")


def _newest(folder: Path) -> int | None:
    return max((int(each.name) for each in folder.glob("*") if each.name.isdecimal()), default=None)
