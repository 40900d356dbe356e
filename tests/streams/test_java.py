"""A Java that Spark cannot use is one sentence, not pages of Spark."""

from pathlib import Path

import pytest

from headwater.errors import Unavailable
from headwater.streams.java import use_java


def java_that(does: str, folder: Path) -> Path:
    """A program that is called like it; returns its JAVA_HOME."""
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{does}\n")
    program.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("does", "sentence"),
    [
        ("echo 'openjdk version \"11.0.2\"' >&2", 'openjdk version "11.0.2" is too old for Spark'),
        ("echo 'openjdk version \"1.8.0_392\"' >&2", "is too old for Spark"),
        ("echo 'Segmentation fault' >&2; exit 1", "is no Java that runs: Segmentation fault"),
        ("exit 1", "is no Java that runs: it says nothing"),
    ],
)
def test_a_java_that_spark_cannot_use_is_refused(
    does: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_that(does, tmp_path)))
    with pytest.raises(Unavailable, match=sentence) as refused:
        use_java()
    assert "install Java 17 or newer" in refused.value.hint


def test_a_java_home_that_has_gone_is_not_passed_over_for_another_java(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/no/such/java")
    with pytest.raises(Unavailable, match="no bin/java in it") as refused:
        use_java()
    assert "unset it" in refused.value.hint


def test_words_before_its_version_are_no_reason_to_refuse_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    does = (
        "echo 'Picked up JAVA_TOOL_OPTIONS: -Dversion' >&2; echo 'openjdk version \"21\" 2023' >&2"
    )
    monkeypatch.setenv("JAVA_HOME", str(java_that(does, tmp_path)))
    assert use_java() == 'openjdk version "21" 2023'
