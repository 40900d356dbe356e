"""Auto CDC flows of Spark's pipelines: refused in one sentence, however they are asked for."""

import traceback

from pyspark.errors import PySparkImportError

from headwater.errors import NotSupported

_FUNCTION = "create_auto_cdc_flow"


def refusal(place: object) -> NotSupported:
    return NotSupported(
        f"{place}: {_FUNCTION} (AUTO CDC in SQL) is not supported",
        hint="read the changes as a table: pipeline.changelog(topic, key=...)",
    )


def is_asked_for_in(error: BaseException | None) -> bool:
    """Whether Spark's function ended for want of a package: it needs gRPC before it calls anybody."""
    if not isinstance(error, PySparkImportError):
        return False
    return any(each.name == _FUNCTION for each in traceback.extract_tb(error.__traceback__))
