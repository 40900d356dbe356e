"""A broker in this process for each test that asks for one."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from headwater.broker import committer
from headwater.testing import Broker

settings.register_profile("headwater", deadline=None)
settings.load_profile("headwater")


@pytest.fixture
def no_producers_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers are long right after a sync, too: who has just produced is not expected to go on."""
    monkeypatch.setattr(committer, "MOMENT_S", 0)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as started:
        yield started
