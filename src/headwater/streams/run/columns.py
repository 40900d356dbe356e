"""Columns by their very names: a dot or a backtick in one is a letter like others."""

from pyspark.sql import Column
from pyspark.sql import functions as F


def column(name: str, field: str | None = None) -> Column:
    """The column of this name, or a field of it."""
    found = F.col(f"`{name.replace('`', '``')}`")
    return found if field is None else found.getField(field)
