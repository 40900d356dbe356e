"""A broker in this process for each test that asks for one."""

from collections.abc import Iterator

import pytest

from headwater.testing import Broker


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as started:
        yield started
