"""A pytest fixture for users' tests: `headwater_broker`, one broker per test.

Loaded by pytest itself; importing the broker waits until a test asks for it.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from headwater.testing.broker import Broker


@pytest.fixture
def headwater_broker() -> "Iterator[Broker]":
    """A broker in this process, with its own directory and port."""
    from headwater.testing.broker import Broker  # noqa: PLC0415 - see above

    with Broker() as broker:
        yield broker
