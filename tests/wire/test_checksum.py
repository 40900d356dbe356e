import subprocess
import sys
from importlib.machinery import PathFinder

import crc32c as package
import pytest

from headwater.wire import checksum

# The check value that every list of CRCs gives for this one.
NINE_DIGITS, THEIR_CRC = b"123456789", 0xE3069283


def test_it_is_castagnolis():
    assert checksum.crc32c(NINE_DIGITS) == THEIR_CRC


def test_it_goes_on_where_another_ended():
    assert checksum.crc32c(NINE_DIGITS[4:], checksum.crc32c(NINE_DIGITS[:4])) == THEIR_CRC


def test_a_package_without_the_compiled_module_is_imported_whole(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(PathFinder, "find_spec", lambda *_: None)

    assert checksum._compiled() is package.crc32c


def test_it_comes_without_the_package_around_it():
    looked = "import sys, headwater.wire.checksum; sys.exit('importlib.metadata' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", looked], check=False).returncode == 0
