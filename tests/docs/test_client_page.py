"""The code on the client's page runs as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.testing import Broker

PAGE = (Path(__file__).parents[2] / "docs/client.md").read_text()
BLOCKING, ASYNCHRONOUS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(
    ("program", "said"),
    [(BLOCKING, r"0 0\n7 \{'id': 7, 'total': 12.5\}"), (ASYNCHRONOUS, r"^orders\n1\n$")],
    ids=["blocking", "asynchronous"],
)
def test_the_code_of_the_page_works(program: str, said: str, tmp_path: Path) -> None:
    with Broker() as broker:
        found = subprocess.run(
            [sys.executable, "-W", "error", "-c", program],
            env={**os.environ, "HEADWATER_BOOTSTRAP": broker.bootstrap},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    assert found.returncode == 0, found.stderr
    assert re.search(said, found.stdout), found.stdout
