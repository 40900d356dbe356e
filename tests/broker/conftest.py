"""A broker in this process for each test that asks for one."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from headwater.testing import Broker

settings.register_profile("headwater", deadline=None)
settings.load_profile("headwater")


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as started:
        yield started
