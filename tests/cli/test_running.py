"""How a process becomes a broker."""

import gc

from headwater.broker.run import serve
from headwater.cli.running import _load_broker


def test_garbage_is_collected_once_the_broker_is_loaded() -> None:
    assert _load_broker() is serve

    assert gc.isenabled()
