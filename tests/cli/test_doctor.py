"""`headwater doctor`, `status` and `bench`."""

from pathlib import Path

import pytest

from cli.conftest import Run
from headwater.cli.doctor import checks
from headwater.cli.main import run
from headwater.cli.output import Output
from headwater.cli.session import Session


def test_doctor_finds_the_broker(headwater: Run, bootstrap: str) -> None:
    result = headwater("doctor")
    assert result.code == 0
    found = {row[0]: row[1:] for row in result.rows}
    assert list(found) == [
        *("python", "librdkafka", "data folder", "free disk", "open files", "port"),
        *("java", "spark"),
        "broker",
    ]
    assert found["broker"][0] == "ok"
    assert bootstrap in found["broker"][1]


def test_a_named_broker_that_is_gone_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--bootstrap", "127.0.0.1:1"]) == 1
    assert "broker\tfail\tcannot reach a broker" in capsys.readouterr().out


def test_the_broker_of_a_folder_may_not_be_started_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADWATER_BOOTSTRAP", "127.0.0.1:1")
    found = checks.check_broker(Session(Output()))
    assert found.state == "warn"
    assert found.fix


def test_a_folder_that_cannot_be_written_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".headwater").mkdir()
    monkeypatch.setattr(checks, "_data_folder", lambda: tmp_path / "gone")
    assert checks.check_data_folder().state == "fail"


def test_java_is_only_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert checks.check_java().state == "warn"


def test_status_counts(headwater: Run, topic: str, bootstrap: str) -> None:
    assert headwater("topic", "produce", topic, "x").code == 0
    shown = headwater("status", "--json")
    assert shown.code == 0, shown.err
    (status,) = shown.documents
    assert (status["address"], status["origin"]) == (bootstrap, "given")
    assert status["topics"] >= 1
    assert status["records"] >= 1
    assert "address\t" in headwater("status").out


def test_bench_leaves_nothing_behind(headwater: Run) -> None:
    result = headwater("bench", "--records", 2000, "--size", 100)
    assert [row[0] for row in result.rows] == ["send, one by one", "produce", "consume"]
    assert result.rows[2][1] == "2201"
    assert "headwater-bench" not in headwater("topic", "list").out


def test_a_java_too_old_for_spark_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = checks.check_java()
    assert (found.state, found.detail) == (
        "warn",
        f'openjdk version "1.8.0_392" is too old for Spark ({java})',
    )
    assert found.fix.startswith("to run pipelines: install Java 17 or newer")


def test_a_java_home_that_has_gone_is_told_though_there_is_another_java(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/no/such/java")
    found = checks.check_java()
    assert (found.state, found.detail) == (
        "warn",
        "JAVA_HOME is /no/such/java, and there is no bin/java in it",
    )
