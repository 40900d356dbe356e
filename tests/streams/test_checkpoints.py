"""What a checkpoint says of a query that has changed."""

from dataclasses import replace
from pathlib import Path

import pytest

from headwater.errors import Conflict
from headwater.streams.datasets import Flow
from headwater.streams.locations import UNKNOWN
from headwater.streams.run.checkpoints import Checkpoints
from headwater.streams.run.signature import Signature


def test_the_reset_that_a_refused_checkpoint_names_is_one_that_works(tmp_path: Path) -> None:
    flow = Flow("totals", "totals", print, (), UNKNOWN)
    checkpoint = Checkpoints(tmp_path).of("shop.eu", flow.name, 2)
    before = Signature(sources=(), state=(), output_mode="update", topic="a", key=("id",))
    checkpoint.take_on(before, flow)
    with pytest.raises(Conflict, match=r"headwater pipeline reset shop\.eu\.totals;"):
        checkpoint.take_on(replace(before, topic="b"), flow)
