"""The user's files: what is beside them does no harm, and what is wrong in them is told once."""

from pathlib import Path

import pytest

from headwater.errors import InvalidRequest, NotFound, NotSupported
from headwater.streams.discovery import find_pipelines

SHOP = 'import headwater as hw\nshop = hw.Pipeline("shop")\n'
TWICE = """from pyspark import pipelines as dp
@dp.table
def a(): ...
@dp.table(name="a")
def b(): ...
"""
SINK = """from pyspark import pipelines as dp
dp.create_sink("s", "kafka", {"topic": "x"})
"""
CDC = """from pyspark import pipelines as dp
dp.create_streaming_table("t")
dp.create_auto_cdc_flow(target="t", source="s", keys=["id"], sequence_by="id")
"""


def test_locks_and_copies_of_an_editor_do_not_break_their_folder(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / ".#shop.py").symlink_to("somebody@somewhere.1:2")
    (tmp_path / "gone.py").symlink_to("nowhere.py")
    (tmp_path / "._shop.py").write_bytes(b"pipeline \0\xff")
    (tmp_path / "folder.py").mkdir()
    assert [each.name for each in find_pipelines(tmp_path)] == ["shop"]


def test_a_sink_is_refused_in_one_sentence_with_one_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sales.py").write_text(SINK)
    with pytest.raises(NotSupported) as refusal:
        find_pipelines(Path("sales.py"))
    assert refusal.value.what == "sales.py:2: a sink of the format 'kafka' is not supported"


def test_an_auto_cdc_flow_is_refused_whatever_packages_there_are(tmp_path: Path) -> None:
    """Without gRPC Spark's own function ends before it has told us of the flow."""
    (tmp_path / "sales.py").write_text(CDC)
    with pytest.raises(NotSupported, match=r"sales\.py:3: create_auto_cdc_flow .* not supported"):
        find_pipelines(tmp_path / "sales.py")


def test_what_a_file_raises_of_ours_stays_what_it_is_and_gets_its_line(tmp_path: Path) -> None:
    file = tmp_path / "shop.py"
    file.write_text(
        "from headwater.errors import NotFound\n\nraise NotFound('no topic x', 'make it')\n"
    )
    with pytest.raises(NotFound) as refusal:
        find_pipelines(file)
    assert str(refusal.value) == f"{file}:3: no topic x (hint: make it)"


def test_lines_of_a_file_for_sparks_own_pipelines_are_short_as_all_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sales.py").write_text(TWICE)
    (pipeline,) = find_pipelines(Path("sales.py"))
    with pytest.raises(InvalidRequest, match=r"two datasets 'a': sales\.py:2 and sales\.py:4 "):
        pipeline.graph()


@pytest.mark.parametrize("name", ["my sales.py", "spark-pipeline.yml"])
def test_a_pipeline_whose_name_comes_from_a_file_is_told_with_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.py").write_text(TWICE)
    is_python = name.endswith(".py")
    content = TWICE if is_python else "name: my sales\nlibraries: [{glob: {include: '*.py'}}]\n"
    (tmp_path / name).write_text(content)
    with pytest.raises(InvalidRequest, match=f"{name}: 'my sales' is not a name for a pipeline"):
        find_pipelines(tmp_path / name)
