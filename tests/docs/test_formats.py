"""The worked examples in docs/formats are what the code writes."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("format_examples", ROOT / "tools/format_examples.py")
assert spec is not None
assert spec.loader is not None
format_examples = importlib.util.module_from_spec(spec)
spec.loader.exec_module(format_examples)


@pytest.mark.parametrize("page", sorted(each.name for each in (ROOT / "docs/formats").glob("*.md")))
def test_examples_are_up_to_date(page):
    written = (ROOT / "docs/formats" / page).read_text()

    assert written == format_examples.rendered()[page], "run: python tools/format_examples.py"
