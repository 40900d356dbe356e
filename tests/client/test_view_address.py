"""Where the server of views is: given, of the environment, of this folder, or the default."""

import json
from pathlib import Path

import pytest

from headwater.client.view_address import find_view_address
from headwater.errors import InvalidRequest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("HEADWATER_VIEWS_URL", raising=False)
    (tmp_path / ".headwater/views").mkdir(parents=True)
    inner = tmp_path / "a/b"
    inner.mkdir(parents=True)
    return inner


def test_the_first_place_that_has_it_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = folder.parents[1] / ".headwater/views/views.json"
    assert str(find_view_address(folder=folder)) == "http://127.0.0.1:9090"
    file.write_text(json.dumps({"http": "http://[::1]:7"}))
    found = find_view_address(folder=folder)
    assert (found.host, found.port, found.origin) == ("::1", 7, str(file))
    monkeypatch.setenv("HEADWATER_VIEWS_URL", "https://views.example/shop/")
    found = find_view_address(folder=folder)
    assert (str(found), found.origin) == ("https://views.example:443/shop", "HEADWATER_VIEWS_URL")
    assert str(find_view_address("localhost:9", folder=folder)) == "http://localhost:9"


@pytest.mark.parametrize(
    "url", ["ftp://x", "http://", "http://x:99999", "http://x:y", "", "http://[::1"]
)
def test_what_is_no_address_is_one_sentence(url: str) -> None:
    with pytest.raises(InvalidRequest, match="is not the address of a server of views"):
        find_view_address(url)


def test_a_broken_file_says_what_to_do(folder: Path) -> None:
    (folder.parents[1] / ".headwater/views/views.json").write_text("{}")
    with pytest.raises(InvalidRequest, match="start the server again: headwater view serve"):
        find_view_address(folder=folder)
