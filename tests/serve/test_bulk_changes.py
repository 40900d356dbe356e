"""Many changes at once, of which a filter lets few through."""

from rigs.changelog import revenue
from serve.conftest import Changelogs, Http
from serve.sse import Stream


def test_a_bulk_of_changes_deletes_only_what_a_connected_subscriber_had(
    http_client: Http, new_changelog: Changelogs
) -> None:
    """They come in parts: each must know the rows as the part before has left them."""
    changelog = new_changelog(partitions=1)
    path = f"/views/{changelog.view.name}"
    kept = changelog.put(revenue(1, 50.0))
    changelog.wait_until_served()
    with Stream(http_client.host, f"{path}/subscribe", where="total > 10") as events:
        assert [each.kind for each in events.read(2)] == ["snapshot", "progress"]
        http_client.ask("POST", f"/v1{path}/pause")
        while http_client.get(path)[1]["state"] != "paused":
            pass
        changelog.start_put(revenue(2, 20.0))
        for number in range(100, 1600):
            changelog.start_put(revenue(number, 1.0))
        changelog.start_put(revenue(1, 1.0))
        changelog.start_put(revenue(2, 1.0))
        changelog.start_put(revenue(3, 30.0))
        changelog.flush()
        http_client.ask("POST", f"/v1{path}/resume")
        told = [(each.data["kind"], each.data["key"]["customer"]) for each in events.read(4)]
    assert told == [("upsert", 2), ("delete", 1), ("delete", 2), ("upsert", 3)], kept
