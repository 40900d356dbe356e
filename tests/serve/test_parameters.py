"""A parameter that is not understood is refused: its answer would be one to another question."""

import pytest

from rigs.changelog import Changelog
from serve.conftest import Http

ROWS = "where, limit, after, wait_for, timeout_s"


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("/views/{view}/rows?wher=customer%20==%201", ROWS),
        ("/views/{view}/rows?customer=1", ROWS),
        ("/views/{view}/rows?WHERE=customer%20==%201", ROWS),
        (
            "/views/{view}/row?key=2026-09-01T10:00Z&key=1&waitfor=orders/0/1",
            "key, wait_for, timeout_s",
        ),
        ("/views/{view}/subscribe?filter=x", "where, snapshot"),
        ("/topics/orders/subscribe?snapshot=false", "where"),
        ("/views?name=x", ""),
    ],
)
def test_a_parameter_that_there_is_not_is_refused_and_those_that_there_are_named(
    http_client: Http, shop: Changelog, path: str, known: str
) -> None:
    status, answer = http_client.get(path.format(view=shop.view.name))
    assert status == 400
    assert "is not a parameter" in answer["error"]["what"]
    assert answer["error"]["hint"] == (f"there are: {known}" if known else "this takes none")


@pytest.mark.parametrize("name", ["where", "limit", "timeout_s", "after"])
def test_of_two_values_none_is_chosen_in_silence(
    http_client: Http, shop: Changelog, name: str
) -> None:
    status, answer = http_client.get(f"/views/{shop.view.name}/rows", **{name: ["1", "2"]})
    assert status == 400
    assert answer["error"]["what"] == f"the parameter {name!r} is given 2 times"


def test_an_answer_that_there_is_no_row_says_as_of_when(http_client: Http, shop: Changelog) -> None:
    path = f"/views/{shop.view.name}"
    status, none = http_client.get(f"{path}/row", key=["2026-09-01T10:00Z", "12345"])
    assert (status, none["error"]["kind"]) == (404, "NotFound")
    assert none["as_of"] == http_client.get(f"{path}/rows")[1]["as_of"]
    status, no_view = http_client.get("/views/nope/row", key=["1"])
    assert (status, "as_of" in no_view) == (404, False)
