"""Profiles of headwater.toml."""

from pathlib import Path

import pytest

from headwater.cli.profile import Profile, find_profile
from headwater.errors import InvalidRequest, NotFound

FILE = """
[profiles.prod]
kafka = "a:1,b:2"
options = { "security.protocol" = "SSL" }
"""


def test_a_profile_is_found_from_a_folder_inside(tmp_path: Path) -> None:
    (tmp_path / "headwater.toml").write_text(FILE)
    inside = tmp_path / "inside"
    inside.mkdir()
    assert find_profile("prod", inside) == Profile("prod", "a:1,b:2", {"security.protocol": "SSL"})


def test_local_is_always_there(tmp_path: Path) -> None:
    assert find_profile("local", tmp_path) == Profile("local")


def test_a_missing_profile_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "headwater.toml").write_text(FILE)
    with pytest.raises(NotFound) as missing:
        find_profile("prd", tmp_path)
    assert missing.value.hint == "did you mean 'prod'?"


@pytest.mark.parametrize("content", ["[profiles", "profiles = 7", "[profiles]\nprod = 1\n" * 2])
def test_a_broken_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "headwater.toml").write_text(content)
    with pytest.raises(InvalidRequest, match=r"headwater\.toml"):
        find_profile("prod", tmp_path)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ('kafak = "prod:9092"', "did you mean kafka?"),
        ('user = "me"', "known settings: kafka, options, spark, spark_conf, state, views"),
    ],
)
def test_a_setting_that_no_profile_has_is_refused_and_not_passed_over(
    tmp_path: Path, line: str, hint: str
) -> None:
    (tmp_path / "headwater.toml").write_text(f"[profiles.prod]\n{line}\n")
    with pytest.raises(InvalidRequest, match="profile 'prod' has an unknown setting") as refused:
        find_profile("prod", tmp_path)
    assert refused.value.hint == hint
