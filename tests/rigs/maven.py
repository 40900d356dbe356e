"""Jars from Maven Central, with all they depend on or alone, fetched once into a cache directory.

A machine without Java, Maven or a registry gets `Unavailable` with the reason, so tests can skip.
"""

import fcntl
import hashlib
import shutil
import subprocess
from pathlib import Path
from typing import Final

from rigs.cache import cache_directory
from rigs.process import Unavailable

Artifact = tuple[str, str, str]
"""(group, artifact, version)"""

# Below the time that a test may take, so that a slow registry is a reason to skip, not an error.
WITHIN_S: Final = 100
POM: Final = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>headwater</groupId><artifactId>{name}</artifactId><version>1</version>
  <dependencies>{dependencies}</dependencies>
</project>
"""

_ALL: Final = (
    "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
)


def jars(name: str, artifacts: tuple[Artifact, ...], *, are_alone: bool = False) -> Path:
    """The directory with the jars of these artifacts, fetched when they are not there yet.

    `are_alone`: without what they depend on, for whoever names all of that.
    """
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            raise Unavailable(f"{name} needs {program}, which is not on PATH")
    directory = cache_directory() / name
    libs, complete = directory / "libs", directory / "complete"
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists():
            _fetch(name, artifacts, directory, libs, exclusions=_ALL if are_alone else "")
            complete.touch()
    return libs


def compiled(source: Path, libs: Path) -> str:
    """The class path of a Java program of ours; it is compiled once per version of its source."""
    if shutil.which("javac") is None:
        raise Unavailable("javac is not on PATH")
    version = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
    classes = cache_directory() / f"java-{source.stem}" / version
    if not (classes / f"{source.stem}.class").exists():
        javac = ["javac", "-Xlint:all", "-cp", f"{libs}/*", "-d", str(classes), str(source)]
        subprocess.run(javac, check=True, timeout=WITHIN_S)
    return f"{classes}:{libs}/*"


def run(command: list[str]) -> None:
    """Run a program to its end; one that fails makes what it was run for unavailable."""
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=WITHIN_S)
    except subprocess.CalledProcessError as error:
        lines = (error.stdout + error.stderr).strip().splitlines() or ["no output"]
        raise Unavailable(f"{command[0]} failed: {lines[0]}") from error
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"{command[0]} took longer than {error.timeout} s") from error


def _fetch(
    name: str, artifacts: tuple[Artifact, ...], directory: Path, libs: Path, *, exclusions: str
) -> None:
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version>{exclusions}</dependency>"
        for group, artifact, version in artifacts
    )
    (directory / "pom.xml").write_text(POM.format(name=name, dependencies=dependencies))
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={libs}"]
    run(["mvn", "-q", "-B", "-f", str(directory / "pom.xml"), *goal])
