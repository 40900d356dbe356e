"""Help: fast, complete, and the same words everywhere."""

import os
import re
import subprocess
import sys

import click
import pytest

from headwater.cli.command import Command
from headwater.cli.lazy import LazyGroup
from headwater.cli.main import root, run


def commands(group: LazyGroup, path: str = "headwater") -> list[tuple[str, str, click.Command]]:
    """Every command below: its path, the summary in its group's help, and itself."""
    found = []
    for name, summary in group.summaries.items():
        made = group.get_command(click.Context(group), name)
        assert made is not None
        found.append((f"{path} {name}", summary, made))
        if isinstance(made, LazyGroup):
            found += commands(made, f"{path} {name}")
    return found


ALL = commands(root)
LEAVES = [(path, made) for path, _, made in ALL if not isinstance(made, click.Group)]


@pytest.mark.parametrize(("path", "made"), LEAVES, ids=[path for path, _ in LEAVES])
def test_every_command_has_three_examples_of_itself(path: str, made: click.Command) -> None:
    assert isinstance(made, Command)
    assert len(made.examples) == 3
    assert all(path in example for example in made.examples)


@pytest.mark.parametrize(("path", "summary", "made"), ALL, ids=[path for path, _, _ in ALL])
def test_the_summary_in_the_list_begins_as_the_help_does(
    path: str, summary: str, made: click.Command
) -> None:
    first_line = (made.help or "").splitlines()[0]
    assert first_line.rstrip(".").split()[:3] == summary.split()[:3], path


@pytest.mark.parametrize(("path", "made"), LEAVES, ids=[path for path, _ in LEAVES])
def test_every_option_has_a_help_text(path: str, made: click.Command) -> None:
    for parameter in made.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{path} {parameter.opts}"


@pytest.mark.parametrize("path", [path for path, _, _ in ALL])
def test_help_prints_and_fits_a_terminal(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*path.split()[1:], "--help"]) == 0
    printed = capsys.readouterr().out
    assert "Usage:" in printed
    assert max(map(len, printed.splitlines())) <= 100


@pytest.mark.parametrize("arguments", [["--help"], ["topic", "--help"], ["--version"]])
def test_help_loads_no_client_no_rich_no_asyncio(arguments: list[str]) -> None:
    program = (
        f"import sys; from headwater.cli.main import run; run({arguments!r}); print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert not loaded & {"confluent_kafka", "rich", "asyncio", "headwater.broker"}


def test_importing_the_package_loads_nothing_heavy() -> None:
    program = "import sys, headwater; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not set(done.stdout.split()) & {"confluent_kafka", "rich", "asyncio", "click"}


def test_no_hint_names_a_command_that_does_not_exist() -> None:
    from pathlib import Path

    import headwater

    paths = {path for path, _, _ in ALL}
    later = {"headwater dev", "headwater serve", "headwater log"}
    source = "\n".join(
        file.read_text()
        for package in ("client", "cli")
        for file in (Path(headwater.__file__).parent / package).rglob("*.py")
    )
    for named in re.findall(r"(?<![\w`])headwater (?:topic|group) [a-z]+|headwater [a-z]+", source):
        words = named.split()
        known = " ".join(words[:3]) in paths or " ".join(words[:2]) in paths | later
        assert known or words[1] in ("import", "package"), named


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("headwater to", {"topic"}),
        ("headwater topic de", {"describe", "delete"}),
        ("headwater topic ", {"create", "list", "tail"}),
        ("headwater topic tail --of", {"--offset"}),
    ],
)
def test_the_shell_completes_commands_and_options(typed: str, offered: set[str]) -> None:
    words = typed.split(" ")
    typing = {"COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
    completed = subprocess.run(
        [sys.executable, "-m", "headwater"],
        env={**os.environ, **typing, "_HEADWATER_COMPLETE": "bash_complete"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert offered <= {line.partition(",")[2] for line in completed.stdout.splitlines()}
    assert completed.stderr == ""
