"""What a checkpoint says of a query that has changed."""

from dataclasses import replace
from pathlib import Path

import pytest

from headwater.errors import Conflict
from headwater.streams.datasets import Flow
from headwater.streams.locations import UNKNOWN
from headwater.streams.run.checkpoints import Checkpoints
from headwater.streams.run.signature import ANEW, Signature


def test_the_reset_that_a_refused_checkpoint_names_is_one_that_works(tmp_path: Path) -> None:
    flow = Flow("totals", "totals", print, (), UNKNOWN)
    checkpoint = Checkpoints(tmp_path).of("shop.eu", flow.name, 2)
    before = Signature(sources=(), state=(), output_mode="update", topic="a", key=("id",))
    checkpoint.take_on(before, flow)
    with pytest.raises(Conflict, match=r"headwater pipeline reset shop\.eu\.totals;"):
        checkpoint.take_on(replace(before, topic="b"), flow)


def test_what_is_computed_anew_fits_with_any_query_but_is_no_stream_again(tmp_path: Path) -> None:
    """A stream has read already what a view that was computed anew has deleted since."""
    flow = Flow("totals", "totals", print, (), UNKNOWN)
    checkpoint = Checkpoints(tmp_path).of("shop", flow.name, 1)
    stream = Signature(
        sources=("a",), state=("aggregation",), output_mode="update", topic="t", key=("id",)
    )
    anew = replace(stream, sources=("a", "b"), state=(), output_mode=ANEW)
    for each in (stream, anew, replace(anew, sources=("b",))):
        checkpoint.take_on(each, flow)
    with pytest.raises(Conflict, match="computed anew, now it is a stream"):
        checkpoint.take_on(replace(anew, sources=("b",), output_mode="update"), flow)
    with pytest.raises(Conflict, match="by id, now t by other"):
        checkpoint.take_on(replace(anew, key=("other",)), flow)
