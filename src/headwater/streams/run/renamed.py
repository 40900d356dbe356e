"""A flow under another name is another query: it would write to its table again what is there already."""

from collections.abc import Sequence

from headwater.errors import Conflict
from headwater.streams.datasets import Table
from headwater.streams.run.checkpoints import Checkpoint, Checkpoints
from headwater.streams.run.plan import Planned


def refuse_renamed(planned: Sequence[Planned], checkpoints: Checkpoints) -> None:
    """Raise `Conflict` for a new flow that reads and fills the topics of one that is gone."""
    present = {each.name for each in planned}
    for each in planned:
        if not isinstance(each.output, Table) or each.checkpoint.exists:
            continue
        for other in checkpoints.of_pipeline(each.pipeline):
            if other.query not in present and _did_the_same(other, each):
                gone = other.query.removeprefix(f"{each.pipeline}.")
                raise Conflict(
                    f"{each.flow.location}: {each.flow.name!r} would write to {each.output.topic!r} "
                    f"again what {gone!r} has written, which is gone: was it renamed?",
                    hint=f'(1) give it its name back: name="{gone}"; (2) forget what was written: '
                    f"headwater pipeline reset {other.query}; (3) have it there twice: "
                    "run with --keep-checkpoint",
                )


def _did_the_same(other: Checkpoint, planned: Planned) -> bool:
    known = other.signature
    wanted = planned.signature
    return (
        other.has_run
        and known is not None
        and (known.topic, known.sources) == (wanted.topic, wanted.sources)
    )
