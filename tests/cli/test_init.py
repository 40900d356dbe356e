"""`headwater init`: a folder that works as it is, and nothing is overwritten."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from cli.test_json_contract import SCHEMAS, strict
from headwater.cli.init import TEMPLATE

FILES = [
    ".gitignore",
    "README.md",
    "conftest.py",
    "feed.py",
    "headwater.toml",
    "pipelines/shop.py",
    "tests/test_shop.py",
]


def init(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "headwater", "init", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(each.relative_to(folder)): each.read_bytes()
        for each in folder.rglob("*")
        if each.is_file() and "__pycache__" not in each.parts
    }


def test_the_folder_is_the_template(tmp_path: Path) -> None:
    done = init(tmp_path, "shop")
    assert (done.returncode, done.stderr) == (0, "")
    assert "cd shop && pytest" in done.stdout
    assert content(tmp_path / "shop") == content(TEMPLATE)
    assert sorted(content(TEMPLATE)) == FILES
    assert [each.name for each in tmp_path.iterdir()] == ["shop"]


def test_json_is_what_the_page_says(tmp_path: Path) -> None:
    (document,) = map(json.loads, init(tmp_path, "new/shop", "--json").stdout.splitlines())
    jsonschema.validate(document, strict(SCHEMAS["headwater init"]))
    assert document == {"folder": "new/shop", "files": FILES}


@pytest.mark.parametrize("name", ["file", "folder", "link", "folder/.."])
def test_what_is_there_is_not_overwritten(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    before = sorted(tmp_path.rglob("*"))
    done = init(tmp_path, name)
    assert (done.returncode, done.stdout) == (5, "")
    assert f"error: {name} already exists\n" in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for place in ("file/shop", "file/more/shop"):
        done = init(tmp_path, place)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"error: {place} cannot be made: file is a file\n"


@pytest.mark.long
@pytest.mark.timeout(400)
def test_the_tests_of_a_new_folder_pass(tmp_path: Path) -> None:
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not on PATH")
    assert init(tmp_path, "shop").returncode == 0
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path / "shop",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3_000:]
    assert "4 passed" in done.stdout


def test_what_is_said_to_come_next_can_be_pasted(tmp_path: Path) -> None:
    assert "next: cd 'my shop' && pytest" in init(tmp_path, "my shop").stdout
    assert "next: cd ./-shop && pytest" in init(tmp_path, "--", "-shop").stdout
