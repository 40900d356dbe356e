"""The public packages load their parts on first use, and still say what they hold."""

import pytest

import headwater
import headwater.client
from headwater.client.record import Record


@pytest.mark.parametrize("package", [headwater, headwater.client])
def test_completion_finds_what_is_loaded_on_first_use(package: object) -> None:
    assert set(package.__all__) <= set(dir(package))  # type: ignore[attr-defined]


def test_what_is_listed_is_there() -> None:
    assert headwater.client.Record is Record
    for name in headwater.client.__all__:
        assert getattr(headwater.client, name)
