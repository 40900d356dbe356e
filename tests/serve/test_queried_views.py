"""What a query does not read cannot hold it up."""

from headwater.client import Client
from rigs.changelog import make_view, new_name
from serve.conftest import Changelogs, Http


def test_a_view_that_is_not_built_refuses_only_queries_that_read_it(
    http_client: Http, client: Client, new_changelog: Changelogs
) -> None:
    """A column may be called like it."""
    shop = new_name("shop").replace("-", "_")
    changelog = new_changelog(
        name=f"{shop}.revenue", columns={"customer": "int", "clicks": "int"}, key=("customer",)
    )
    receipt = changelog.put({"customer": 7, "clicks": 3})
    waits = make_view(f"{shop}.clicks")  # for its topic
    client.admin.views.define(waits)
    while waits.name not in [each.name for each in client.views.list()]:
        pass
    wait_for = f"{receipt.topic}/{receipt.partition}/{receipt.offset}"
    text = f"SELECT customer, clicks FROM {shop}.revenue"
    status, answer = http_client.query(text, wait_for=wait_for)
    assert (status, answer.get("rows")) == (200, [[7, 3]]), answer
    assert list(answer["as_of"]) == [f"{shop}.revenue"]
    status, answer = http_client.query(f"SELECT * FROM {shop}.clicks")
    assert (status, answer["error"]["kind"]) == (503, "Unavailable")
    assert "has not been built yet" in answer["error"]["what"]
    client.admin.views.drop(waits.name)
