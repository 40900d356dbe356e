"""Public names of a package that are loaded on first use, so that importing the package is cheap."""

from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package whose names live in other modules, or are modules."""

    def __getattr__(name: str) -> object:  # noqa: N807  what Python calls it
        home = homes.get(name)
        if home is None:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message)
        module = import_module(home)
        return module if home.endswith(f".{name}") else getattr(module, name)

    return __getattr__
