"""The public packages load their parts on first use, and still say what they hold."""

import subprocess
import sys
from pathlib import Path

import pytest

import headwater
import headwater.client
import headwater.testing
from headwater.client.record import Record

USER_PROGRAM = """
import headwater as hw


def total(client: hw.Client) -> float:
    with client.consumer("orders", group="billing", until="end") as orders:
        return sum(float(record.value["total"]) for record in orders)


async def place(client: hw.AsyncClient, order: dict[str, object]) -> hw.Receipt:
    return await client.send("orders", order, key=str(order["id"]))


def latest(broker: hw.testing.Broker) -> hw.Record:
    return broker.topic("orders").last()


hw.Clinet
hw.testing.Brocker
"""


@pytest.mark.parametrize("package", [headwater, headwater.client, headwater.testing])
def test_completion_finds_what_is_loaded_on_first_use(package: object) -> None:
    assert set(package.__all__) <= set(dir(package))  # type: ignore[attr-defined]


def test_what_is_listed_is_there() -> None:
    assert headwater.client.Record is Record
    for name in headwater.client.__all__:
        assert getattr(headwater.client, name)


def test_what_a_program_names_in_its_types_is_there_by_that_name() -> None:
    for name in ("Client", "Consumer", "Producer", "Receipt", "Record", "AsyncClient"):
        assert getattr(headwater, name) is getattr(headwater.client, name)


def test_a_type_checker_knows_the_public_names_and_no_others(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(USER_PROGRAM)
    command = (sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(program))
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    errors = [line.partition(" error: ")[2] for line in checked.stdout.splitlines()]
    assert errors == [
        'Module has no attribute "Clinet"; maybe "Client"?  [attr-defined]',
        'Module has no attribute "Brocker"; maybe "Broker"?  [attr-defined]',
    ], checked
