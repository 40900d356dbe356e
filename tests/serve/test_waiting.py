"""Read your own writes: a receipt, a wait, and a clear answer when it takes too long."""

import json
import threading
from dataclasses import asdict

import pytest

from headwater.client import Client
from headwater.errors import TimedOut
from headwater.followers.follower import tag_of
from headwater.followers.tail import Mark, Source
from headwater.serve.waiting import Wanted
from headwater.views import View
from rigs.changelog import Changelog, make_view, new_name, revenue
from serve.conftest import Changelogs, Http, text_of


def test_every_write_is_read_back_at_once(client: Client, changelog: Changelog) -> None:
    view = client.view(changelog.view.name)
    for number in range(50):
        receipt = changelog.put(revenue(1, float(number)))
        row = view.get(minute="2026-09-01T10:00Z", customer=1, wait_for=receipt)
        assert row is not None
        assert row["total"] == float(number)
        assert row.as_of[receipt.partition] > receipt.offset


@pytest.mark.parametrize("form", ["json", "path"])
def test_a_receipt_is_accepted_as_it_is(http_client: Http, changelog: Changelog, form: str) -> None:
    receipt = changelog.put(revenue(1))
    given = json.dumps(asdict(receipt)) if form == "json" else text_of(receipt)
    status, answer = http_client.get(f"/views/{changelog.view.name}/rows", wait_for=given)
    assert (status, len(answer["rows"])) == (200, 1)


def test_a_wait_that_is_too_long_says_where_the_view_is(
    client: Client, http_client: Http, changelog: Changelog
) -> None:
    receipt = changelog.put(revenue(1))
    later = f"{receipt.topic}/{receipt.partition}/{receipt.offset + 100}"
    path = f"/views/{changelog.view.name}/rows"
    status, answer = http_client.get(path, wait_for=later, timeout_s="0.2")
    assert status == 504
    assert answer["error"]["what"] == (
        f"view {changelog.view.name!r} has not reached {later} within 0.2 s: it is following"
    )
    assert answer["error"]["retriable"] is True
    with pytest.raises(TimedOut):
        client.views.query(
            f'SELECT 1 FROM "{changelog.view.name}"',
            wait_for=type(receipt)(receipt.topic, receipt.partition, receipt.offset + 100, 0),
            timeout_s=0.1,
        )


def test_a_record_of_a_topic_that_nobody_follows_is_refused_at_once(
    http_client: Http, shop: Changelog
) -> None:
    status, answer = http_client.get(f"/views/{shop.view.name}/rows", wait_for="orders/0/1")
    assert status == 400
    assert "cannot tell when it has a record of 'orders'" in answer["error"]["what"]


def test_a_record_of_an_input_topic_is_waited_for_through_the_pipeline(
    client: Client, new_changelog: Changelogs
) -> None:
    """The group's position is the pipeline's word; what it wrote before is then in the view."""
    orders, group = new_name("orders"), new_name("g")
    client.admin.topics.create(orders, partitions=1, replicas=1)
    changelog = new_changelog(group=group)
    asked = threading.Event()

    def pipeline() -> None:
        with client.consumer(orders, group=group) as records:
            for record in records:
                asked.wait(10)
                changelog.put(revenue(record.value["customer"], record.value["total"]))
                records.commit()
                return

    worker = threading.Thread(target=pipeline)
    worker.start()
    view = client.view(changelog.view.name)
    receipt = client.send(orders, {"customer": 5, "total": 2.5})
    with pytest.raises(TimedOut, match=f"has not reached {orders}/0/0"):
        view.get(minute="2026-09-01T10:00Z", customer=5, wait_for=receipt, timeout_s=0.2)
    asked.set()
    row = view.get(minute="2026-09-01T10:00Z", customer=5, wait_for=receipt, timeout_s=15)
    worker.join()
    assert row is not None
    assert row["total"] == 2.5


def test_positions_of_other_content_are_not_taken_for_those_of_the_view() -> None:
    """A new version is built beside the old one, which is served meanwhile, at offsets of its own."""
    view = make_view("shop.revenue", topic="shop.revenue.v2", version=2)
    old = make_view("shop.revenue", topic="shop.revenue", version=1)

    def served(content: View, topic_id: str) -> Mark:
        return Mark(1, 1, {0: 100}, Source(tag_of(topic_id, content), content))

    assert Wanted(view, {0: 5}).is_in(served(view, "id"))
    assert not Wanted(view, {0: 101}).is_in(served(view, "id"))
    assert not Wanted(view, {0: 5}).is_in(served(old, "id"))
    assert Wanted(view, {0: 5}, "id").is_in(served(view, "id"))
    assert not Wanted(view, {0: 5}, "id").is_in(served(view, "id of a topic before"))


def test_many_wait_at_the_same_time_and_all_are_woken(client: Client, changelog: Changelog) -> None:
    import headwater

    found: list[float] = []

    def wait(partition: int, offset: int) -> None:
        from headwater.client import Receipt

        with headwater.connect(
            client.connection.address.bootstrap, views=str(client.views._server.address)
        ) as own:
            row = own.view(changelog.view.name).get(
                minute="2026-09-01T10:00Z",
                customer=1,
                wait_for=Receipt(changelog.view.topic, partition, offset, 0),
                timeout_s=15,
            )
            assert row is not None
            found.append(row["total"])

    receipt = changelog.put(revenue(1, 0.0))
    waiting = [
        threading.Thread(target=wait, args=(receipt.partition, receipt.offset + 1))
        for _ in range(20)
    ]
    for each in waiting:
        each.start()
    changelog.put(revenue(1, 1.0))
    for each in waiting:
        each.join()
    assert found == [1.0] * 20
