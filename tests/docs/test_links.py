"""What the docs point at exists: files, and modules of the architecture page."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
_LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
_MODULE = re.compile(
    r"`((?:broker|bulk|client|followers|log|serve|views|wire|cli|testing)/[a-z_/]+)(?:\.[a-zA-Z_]+)?`"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    missing = [
        link for link in _LINK.findall(page.read_text()) if not (page.parent / link).exists()
    ]

    assert missing == []


def test_modules_of_the_architecture_exist():
    named = set(_MODULE.findall((ROOT / "ARCHITECTURE.md").read_text()))
    source = ROOT / "src/headwater"

    missing = [
        each for each in named if not ((source / each).is_dir() or (source / f"{each}.py").exists())
    ]

    assert named
    assert missing == []


def test_architecture_fits_its_limit():
    assert len((ROOT / "ARCHITECTURE.md").read_text().splitlines()) <= 150
