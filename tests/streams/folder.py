"""A user's folder, where somebody types `headwater pipeline`; what is said is held to docs/cli-json.md."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cli.test_json_contract import SCHEMAS, strict
from headwater.client import Client

PIPELINE = """
import headwater as hw

shop = hw.Pipeline("{name}")
shop.topic("{topic}", name="orders", schema="id LONG, total DOUBLE")

@shop.materialized_view(key="id")
def totals(orders):
    return orders.groupBy("id").sum("total").withColumnRenamed("sum(total)", "total")
"""


class Folder:
    """A folder with at most one pipeline."""

    def __init__(self, path: Path, client: Client) -> None:
        self.path = path
        self.state = path / ".headwater" / "pipelines"
        self.bootstrap = client.connection.address.bootstrap

    def write(self, content: str) -> None:
        (self.path / "pipelines").mkdir(exist_ok=True)
        (self.path / "pipelines" / "shop.py").write_text(content)

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._command(*arguments), cwd=self.path, capture_output=True, text=True, check=False
        )

    def running(self, *, start_new_session: bool = False) -> "subprocess.Popen[str]":
        """`headwater pipeline run`, which ends only when it is told to."""
        return subprocess.Popen(
            self._command("run"),
            cwd=self.path,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=start_new_session,
        )

    def json(self, verb: str, *arguments: str) -> list[dict[str, Any]]:
        done = self(verb, *arguments, "--json")
        assert done.returncode == 0, done.stderr
        documents = [json.loads(line) for line in done.stdout.splitlines()]
        for each in documents:
            jsonschema.validate(each, strict(SCHEMAS[f"headwater pipeline {verb}"]))
        return documents

    def _command(self, *arguments: str) -> list[str]:
        headwater = [sys.executable, "-m", "headwater", "--bootstrap", self.bootstrap]
        return [*headwater, "pipeline", *arguments]


@pytest.fixture
def folder(tmp_path: Path, client: Client) -> Folder:
    return Folder(tmp_path, client)
