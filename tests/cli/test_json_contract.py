"""docs/cli-json.md is a contract: every command prints what it says, and nothing that it hides."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cli.conftest import Run
from cli.test_help import LEAVES
from headwater.client import Client

PAGE = Path(__file__).parents[2] / "docs" / "cli-json.md"
# Held to the page in test_serve.py, test_log_commands.py, test_init.py and test_view_commands.py: they
# need no broker, are one, or ask another server.
ELSEWHERE = {
    "headwater dev",
    "headwater serve",
    "headwater init",
    "headwater log verify",
    "headwater log dump",
}


def is_elsewhere(command: str) -> bool:
    return command in ELSEWHERE or command.startswith(("headwater view ", "headwater pipeline "))


def schemas() -> dict[str, Any]:
    """The schema under each heading that names a command."""
    sections = re.findall(r"(?ms)^## (headwater .+?)\n.*?```json\n(.*?)```", PAGE.read_text())
    return {command: json.loads(schema) for command, schema in sections}


SCHEMAS = schemas()


def strict(schema: Any) -> Any:
    """The same schema without room for fields that the page does not name."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: strict(part) for name, part in schema.items()}
    return closed | {"additionalProperties": False} if closed.get("type") == "object" else closed


def test_every_command_is_on_the_page() -> None:
    assert set(SCHEMAS) == {path for path, _ in LEAVES}


@pytest.fixture
def billing(client: Client, topic: str, group: str) -> str:
    values = [b'{"a": 1}', b"text", b"\xff", None]
    with client.producer(value_format="bytes") as producer:
        for value in values:
            producer.send(topic, value, key=b"\xff", headers=[("h", b"\xff"), ("h", None)])
            producer.send(topic, value, key="k", headers=[("h", "x")])
    with client.consumer(topic, group=group, value_format="bytes") as records:
        next(records)
    return group


def command_lines(topic: str, group: str, file: Path) -> dict[str, list[str]]:
    return {
        "headwater topic create": [f"{topic}-new", "--replicas", "1"],
        "headwater topic list": [],
        "headwater topic describe": [topic, "--all"],
        "headwater topic alter": [topic, "--set", "retention.ms=1000000", "--partitions", "2"],
        "headwater topic produce": [topic, "a", "b"],
        "headwater topic tail": [topic, "-o", ":end"],
        "headwater topic export": [topic],
        "headwater topic import": [topic, str(file)],
        "headwater group list": [],
        "headwater group describe": [group],
        "headwater group seek": [group, "--to", "start", "--yes"],
        "headwater group delete": [group, "--yes"],
        "headwater status": [],
        "headwater doctor": [],
        "headwater bench": ["--records", "100", "--size", "10"],
        "headwater topic trim": [topic, "--before", "+1", "--yes"],
        "headwater topic delete": [f"{topic}-new", "--yes"],
    }


def test_every_command_prints_what_the_page_says(
    headwater: Run, topic: str, billing: str, tmp_path: Path
) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text('{"value": 1}\n')
    lines = command_lines(topic, billing, file)
    assert set(lines) == {each for each in SCHEMAS if not is_elsewhere(each)}
    for command, arguments in lines.items():
        result = headwater(*command.split()[1:], *arguments, "--json")
        assert result.code == 0, (command, result.err)
        assert result.documents, command
        for document in result.documents:
            jsonschema.validate(document, strict(SCHEMAS[command]))


def test_a_live_group_is_described_as_the_page_says(
    headwater: Run, client: Client, topic: str, billing: str
) -> None:
    with client.consumer(topic, group=billing, value_format="bytes") as records:
        next(records)
        (document,) = headwater("group", "describe", billing, "--json").documents
    assert document["members"]
    jsonschema.validate(document, strict(SCHEMAS["headwater group describe"]))
