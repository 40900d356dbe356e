"""Flags that name a broker or a file: what is named is used, or refused; nothing else takes its place."""

from pathlib import Path

import pytest

from cli.conftest import Run
from headwater.cli.main import run
from headwater.client import Client


@pytest.mark.parametrize("flag", ["--bootstrap", "--profile"])
@pytest.mark.parametrize("is_before", [True, False])
def test_an_empty_address_is_not_that_of_another_broker(
    client: Client,
    topic: str,
    bootstrap: str,
    monkeypatch: pytest.MonkeyPatch,
    flag: str,
    is_before: bool,
) -> None:
    monkeypatch.setenv("HEADWATER_BOOTSTRAP", bootstrap)
    command = ["topic", "delete", topic, "--yes"]
    assert run([flag, "", *command] if is_before else [*command, flag, ""]) == 2
    assert topic in client.admin.topics.names()


def test_a_profile_that_is_not_there_is_not_ignored_for_an_address(headwater: Run) -> None:
    result = headwater("topic", "list", "--profile", "nosuch")
    assert (result.code, result.out) == (3, "")
    assert "there is no profile 'nosuch'" in result.err


def test_an_address_stands_in_for_that_of_the_profile_and_nothing_else(
    headwater: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path("headwater.toml")
    file.write_text('[profiles.prod]\nkafka = "127.0.0.1:1"\n')
    assert headwater("topic", "list", "--profile", "prod").code == 0
    file.write_text('[profiles.prod]\noptions = { "no.such.option" = 1 }\n')
    assert "no.such.option" in headwater("topic", "list", "--profile", "prod").err


@pytest.mark.parametrize("flag", ["-o", "--where", "-f", "--group"])
def test_an_empty_option_of_tail_is_not_one_that_was_left_out(
    headwater: Run, topic: str, flag: str
) -> None:
    assert headwater("topic", "tail", topic, "-o", ":end", flag, "").code == 2


@pytest.mark.parametrize("command", [["serve"], ["dev"], ["view", "serve"]])
def test_an_empty_data_directory_is_not_the_present_folder(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run([*command, "--data", ""]) == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", [["serve"], ["view", "serve"]])
def test_a_configuration_that_was_named_must_exist(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "--config", "typo.tmol", "--print-config"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "'typo.tmol' does not exist" in printed.err
