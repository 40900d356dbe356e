"""A test suite of a user: files in a folder, run by pytest in a process of its own."""

import subprocess
import sys
from pathlib import Path
from textwrap import dedent


def run_suite(folder: Path, **modules: str) -> str:
    """Write the modules and run them; returns what pytest says, fails if they fail."""
    for name, source in modules.items():
        (folder / f"{name}.py").write_text(dedent(source))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-W",
        "error",
        "-p",
        "no:randomly",
        str(folder),
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
