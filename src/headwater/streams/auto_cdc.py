"""Auto CDC flows of Spark's pipelines: refused in one sentence, however they are asked for."""

import traceback

from headwater.errors import NotSupported

_FUNCTION = "create_auto_cdc_flow"


def refusal(place: object) -> NotSupported:
    return NotSupported(
        f"{place}: {_FUNCTION} (AUTO CDC in SQL) is not supported",
        hint="read the changes as a table: pipeline.changelog(topic, key=...)",
    )


def is_asked_for_in(error: BaseException | None) -> bool:
    """Whether it came out of Spark's function, which needs gRPC before it tells anybody of the flow."""
    frames = traceback.extract_tb(error.__traceback__) if error else ()
    return any(each.name == _FUNCTION for each in frames)
