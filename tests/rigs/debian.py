"""Programs of Debian packages, fetched once into a cache directory: nothing is installed, nobody is root.

A machine without apt, or that cannot reach its packages, gets `Unavailable` with the reason, so tests
can skip.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from rigs.cache import cache_directory
from rigs.process import Unavailable

# Twice that is below the time that a test may take: a slow mirror is a reason to skip, not an error.
WITHIN_S: Final = 45

# The machine's sources, proxies and installed packages count, but nothing of it is written: neither its
# lists nor, by hooks after an update, its caches.
CONFIGURATION: Final = """
Dir::State "{directory}";
Dir::Cache "{directory}";
Debug::NoLocking "true";
APT::Sandbox::User "root";
APT::Install-Recommends "false";
Acquire::Retries "1";
Acquire::http::Timeout "10";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
"""


def program(package: str, name: str) -> list[str]:
    """The words that start this program: the one on PATH, else the package's from the cache directory."""
    if shutil.which(name) is not None:
        return [name]
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise Unavailable(f"{name} is not on PATH, and neither is {tool} to fetch it with")
    root = _unpacked(package)
    executable = root / "usr" / "bin" / name
    libraries = sorted({str(each.parent) for each in root.rglob("lib*.so.*")})
    return ["env", f"LD_LIBRARY_PATH={':'.join(libraries)}", str(executable)]


def _unpacked(package: str) -> Path:
    """The package and what it depends on beyond what is installed; there completely or not at all."""
    directory = cache_directory().absolute() / f"debian-{package}"
    root = directory / "root"
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not root.exists():
            with tempfile.TemporaryDirectory(dir=directory) as temporary:
                unpacked = Path(temporary) / "root"
                for archive in _fetch(package, Path(temporary)):
                    subprocess.run(["dpkg-deb", "-x", archive, unpacked], check=True)
                unpacked.rename(root)
    return root


def _fetch(package: str, directory: Path) -> list[Path]:
    configuration = directory / "apt.conf"
    configuration.write_text(CONFIGURATION.format(directory=directory))
    apt = ["apt-get", "-qq", "-c", str(configuration)]
    # An update that fails for one source of several says so and goes on: the package may be in another.
    updated = _run([*apt, "update"])
    # Reinstall: a package that is installed, but not on PATH, is fetched all the same.
    fetched = _run([*apt, "install", "--download-only", "--reinstall", package])
    archives = list(directory.glob("archives/*.deb"))
    if fetched.returncode != 0 or not archives:
        lines = (updated.stderr + fetched.stderr).splitlines() or ["no output"]
        reason = next((line for line in lines if "Failed to fetch" in line), lines[-1])
        raise Unavailable(f"apt-get cannot fetch {package}: {reason}")
    return archives


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
            env=os.environ | {"LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"{command[0]} took longer than {error.timeout} s") from error
