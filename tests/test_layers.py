"""The shape of the code: layers keep apart, one handler file per API, imports stay cheap."""

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import headwater.broker.handlers
import headwater.wire.messages
from headwater.broker.dispatch import HANDLERS

ROOT = Path(__file__).parents[1]


def test_packages_import_only_what_stands_above_them() -> None:
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_each_api_has_one_message_file_and_one_handler_file_of_the_same_name() -> None:
    handlers = {each.name for each in pkgutil.iter_modules(headwater.broker.handlers.__path__)}
    messages = {each.name for each in pkgutil.iter_modules(headwater.wire.messages.__path__)}
    assert handlers == messages
    for request, handler in HANDLERS.items():
        module = request.__module__.rpartition(".")[2]
        assert handler.__name__ == module
        assert handler.__module__ == f"headwater.broker.handlers.{module}"
    assert len(HANDLERS) == len(handlers)


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "src").rglob("*.py")
        if (tree := ast.parse(path.read_text())).body and not ast.get_docstring(tree)
    ]
    assert not silent


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("headwater", ("confluent_kafka", "asyncio", "headwater.broker", "pyarrow", "pyspark")),
        ("headwater.bulk.reader", ("confluent_kafka", "asyncio", "pyspark", "pandas")),
        ("headwater.config", ("asyncio", "headwater.broker")),
        ("headwater.wire.codec", ("asyncio", "socket", "confluent_kafka")),
        ("headwater.broker.server", ("confluent_kafka", "click", "rich")),
        ("headwater.testing.pytest_plugin", ("headwater.broker", "confluent_kafka", "asyncio")),
    ],
)
def test_an_import_loads_no_more_than_it_needs(module: str, unwanted: tuple[str, ...]) -> None:
    importlib.import_module(module)
    # pytest itself loads much: what counts is what the module adds.
    code = (
        "import sys, pytest; before = set(sys.modules); "
        f"import {module}; print(*(set(sys.modules) - before))"
    )
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    assert not [each for each in unwanted if each in loaded]
