"""`headwater init`."""

import shlex
import shutil
from pathlib import Path

import click

import headwater
from headwater.cli.command import command as headwater_command
from headwater.cli.session import Session
from headwater.errors import Conflict, InvalidRequest

TEMPLATE = Path(headwater.__file__).parent / "templates" / "shop"


@headwater_command(
    "init",
    examples=(
        "headwater init shop && cd shop && pytest",
        "headwater init shops/bakery",
        "headwater init shop --json",
    ),
)
@click.argument("folder", metavar="NAME", type=click.Path(path_type=Path))
def command(session: Session, folder: Path) -> None:
    """Make a folder with a pipeline, events to feed it and tests that pass.

    It holds a small online shop: copy it, change it. Nothing is overwritten.
    """
    files = _copy(folder)
    session.output.done(
        f"made {folder}: {', '.join(files)}\n"
        f"next: cd {_quoted(folder)} && pytest, then see README.md",
        {"folder": str(folder), "files": files},
    )


def _quoted(folder: Path) -> str:
    """As a shell takes it; what begins with a dash would be an option."""
    name = str(folder)
    return shlex.quote(f"./{name}" if name.startswith("-") else name)


def _copy(folder: Path) -> list[str]:
    """All files or none: they are written beside the folder, which then gets its name."""
    if folder.exists() or folder.is_symlink():
        raise Conflict(f"{folder} already exists", hint="choose another name: headwater init NAME")
    unfinished = folder.parent / f".{folder.name}.unfinished"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(TEMPLATE, unfinished, ignore=shutil.ignore_patterns("__pycache__"))
        unfinished.rename(folder)
    except OSError as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise InvalidRequest(f"{folder} cannot be made: {_reason(folder, error)}") from error
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if not each.is_dir())


def _reason(folder: Path, error: OSError) -> str:
    file = next((each for each in folder.parents if each.exists() and not each.is_dir()), None)
    return str(error.strerror or error).lower() if file is None else f"{file} is a file"
