"""CRC-32C: the checksum of record batches and of our own files."""

from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crc32c import crc32c
else:

    def _compiled() -> Callable[..., int]:
        """The function of the package `crc32c`, without the package around it.

        Importing the package looks up its own version, which every start would wait for.
        """
        package = find_spec("crc32c")
        found = package and PathFinder.find_spec("_crc32c", package.submodule_search_locations)
        if not found:
            from crc32c import crc32c  # noqa: PLC0415 - a release of it that is laid out otherwise

            return crc32c
        module = module_from_spec(found)
        found.loader.exec_module(module)
        return module.crc32c

    crc32c = _compiled()

__all__ = ["crc32c"]
