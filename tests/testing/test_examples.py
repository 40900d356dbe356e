"""The examples of the testing kit do what they say."""

import doctest
import re
from pathlib import Path
from types import ModuleType

import pytest

import headwater.testing.broker
import headwater.testing.clock
import headwater.testing.topic
from testing.user_suite import run_suite

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"


@pytest.mark.parametrize(
    "module", [headwater.testing.broker, headwater.testing.clock, headwater.testing.topic]
)
def test_examples_in_docstrings(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


def test_examples_of_the_page(tmp_path: Path) -> None:
    """Every Python block of docs/testing.md is a test module of its own."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) >= 4
    run_suite(tmp_path, **{f"test_{number}": block for number, block in enumerate(blocks)})
