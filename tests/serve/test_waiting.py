"""Read your own writes: a receipt, a wait, and a clear answer when it takes too long."""

import json
import threading
from dataclasses import asdict
from typing import Any

import pytest

from headwater.client import Client
from headwater.errors import TimedOut
from headwater.followers.follower import tag_of
from headwater.followers.tail import Mark, Source
from headwater.serve.broker_answers import ASK_GROUP_S
from headwater.serve.waiting import Wanted
from headwater.testing import Broker
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


@pytest.mark.parametrize("form", ["text", "json", "object", "list"])
def test_a_receipt_is_accepted_as_it_is_in_the_body_of_a_query(
    http_client: Http, changelog: Changelog, form: str
) -> None:
    receipt = changelog.put(revenue(1))
    whole = asdict(receipt)
    given = {
        "text": text_of(receipt),
        "json": json.dumps(whole),
        "object": whole,
        "list": [text_of(receipt), whole],
    }[form]
    sql = f'SELECT count(*) FROM "{changelog.view.name}"'
    status, answer = http_client.query(sql, wait_for=given)
    assert (status, answer.get("rows")) == (200, [[1]])


@pytest.mark.parametrize(
    "given",
    [
        7,
        "x",
        {"topic": "a", "partition": 0},
        {"topic": "", "partition": 0, "offset": 0},
        {"topic": "a", "partition": -1, "offset": 0},
        {"topic": "a", "partition": 0, "offset": 1 << 63},
        {"topic": "a", "partition": "0", "offset": 0},
        ["a/0/0", None],
        ["a/0/0"] * 101,
    ],
)
def test_what_is_no_receipt_is_called_by_its_name(
    http_client: Http, shop: Changelog, given: Any
) -> None:
    sql = f'SELECT count(*) FROM "{shop.view.name}"'
    status, answer = http_client.query(sql, wait_for=given)
    assert status == 400
    assert "is not a receipt" in answer["error"]["what"]
    assert "orders/0/41" in answer["error"]["hint"]


def test_all_receipts_are_waited_for_and_not_only_the_last(
    http_client: Http, changelog: Changelog
) -> None:
    receipt = changelog.put(revenue(1))
    there = text_of(receipt)
    later = f"{receipt.topic}/{receipt.partition}/{receipt.offset + 100}"
    path, sql = f"/views/{changelog.view.name}/rows", f'SELECT 1 FROM "{changelog.view.name}"'
    for both in ([later, there], [there, later]):
        for status, answer in (
            http_client.get(path, wait_for=both, timeout_s=0.2),
            http_client.query(sql, wait_for=both, timeout_s=0.2),
        ):
            assert status == 504
            assert f"has not reached {later} within 0.2 s" in answer["error"]["what"]
    assert http_client.get(path, wait_for=[there, there])[0] == 200


def test_a_partition_that_there_is_not_is_refused_at_once(
    client: Client, http_client: Http, new_changelog: Changelogs
) -> None:
    """Of the view's own topic, and of one that its pipeline reads."""
    orders = new_name("orders")
    client.admin.topics.create(orders, partitions=1, replicas=1)
    view = new_changelog(group=new_name("g"), partitions=2).view
    for topic, partitions in ((view.topic, 2), (orders, 1)):
        status, answer = http_client.get(
            f"/views/{view.name}/rows", wait_for=f"{topic}/77/0", timeout_s=15
        )
        assert status == 400
        assert answer["error"]["what"] == f"topic {topic!r} has no partition 77"
        assert f"it has {partitions}" in answer["error"]["hint"]
        assert answer["error"]["retriable"] is False


def test_a_topic_that_there_is_not_is_refused_at_once(
    http_client: Http, new_changelog: Changelogs
) -> None:
    """The view's pipeline may read any, for all that is known; none of this name."""
    view, topic = new_changelog(group=new_name("g")).view, new_name("gone")
    status, answer = http_client.get(
        f"/views/{view.name}/rows", wait_for=f"{topic}/0/0", timeout_s=15
    )
    assert (status, answer["error"]["what"]) == (400, f"there is no topic {topic!r}")


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


def test_those_who_wait_for_the_same_pipeline_ask_the_broker_together(
    broker: Broker, client: Client, http_client: Http, new_changelog: Changelogs
) -> None:
    orders, waiters, timeout_s = new_name("orders"), 20, 1.0
    client.admin.topics.create(orders, partitions=1, replicas=1)
    path = f"/views/{new_changelog(group=new_name('g')).view.name}/rows"
    asked = {"wait_for": f"{orders}/0/0", "timeout_s": timeout_s}
    apis = broker.embedded.traffic.apis
    before = apis["OffsetFetch"].requests if "OffsetFetch" in apis else 0
    answers: list[int] = []
    waiting = [
        threading.Thread(target=lambda: answers.append(http_client.get(path, **asked)[0]))
        for _ in range(waiters)
    ]
    for each in waiting:
        each.start()
    for each in waiting:
        each.join()
    assert answers == [504] * waiters
    # The last of them may have begun a second after the first.
    assert 0 < apis["OffsetFetch"].requests - before < 3 * timeout_s / ASK_GROUP_S


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
