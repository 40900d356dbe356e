"""kafkajs, the client of Node programs, in the scenarios of `kafkajs/scenarios.js`.

Its codecs for lz4 and zstd need a C++ compiler on the machine, so they are not asked for here.
"""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from rigs.cache import cache_directory

SCENARIOS: Final = Path(__file__).parent / "kafkajs" / "scenarios.js"
PACKAGES: Final = ("kafkajs@2.2.4", "kafkajs-snappy@1.1.0")


@pytest.fixture(scope="session")
def node_path() -> str:
    """Where kafkajs is installed: in the cache directory, by npm, once."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"kafkajs needs {program}, which is not on PATH")
    directory = cache_directory() / "-".join(PACKAGES)
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (directory / "complete").exists():
            _install(directory)
            (directory / "complete").touch()
    return str(directory / "node_modules")


def _install(directory: Path) -> None:
    install = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(directory), *PACKAGES]
    done = subprocess.run(install, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "npm error" in line]
        pytest.skip(f"npm cannot install kafkajs: {(lines or ['no reason given'])[0]}")


@pytest.mark.parametrize(
    "scenario",
    [
        "codec none",
        "codec gzip",
        "codec snappy",
        "record",
        "acks 0",
        "acks 1",
        "acks -1",
        "idempotent",
        "transactions",
        "rebalance",
        "commit",
        "seek",
        "times",
        "admin-topics",
        "admin-configs",
        "admin-records",
        "admin-groups",
        "admin-cluster",
    ],
)
def test_kafkajs(node_path: str, bootstrap: str, name: str, scenario: str):
    action, *option = scenario.split()

    done = subprocess.run(
        ["node", str(SCENARIOS), bootstrap, action, name, *option],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ | {"NODE_PATH": node_path, "KAFKAJS_NO_PARTITIONER_WARNING": "1"},
    )

    assert done.returncode == 0, done.stderr
