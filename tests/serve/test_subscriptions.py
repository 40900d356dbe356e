"""Subscriptions: snapshot, every change exactly once, resumed anywhere, slow readers on their own."""

import threading
from random import Random
from typing import Any

import pytest
from confluent_kafka import Producer

from headwater.client import Change, Client
from headwater.errors import InvalidRequest, NotFound, Unavailable
from headwater.serve import subscription
from headwater.testing import Broker, SettableClock, ViewServer
from headwater.views import encode_key
from rigs.changelog import Changelog, new_name, revenue
from serve.conftest import Changelogs, Http
from serve.sse import Event, Stream


def offsets(events: list[Event]) -> list[tuple[int, int]]:
    return [
        (each.data["partition"], each.data["offset"]) for each in events if each.kind == "change"
    ]


def stream(http_client: Http, changelog: Changelog, **options: Any) -> Stream:
    return Stream(http_client.host, f"/views/{changelog.view.name}/subscribe", **options)


def test_rows_that_are_there_come_first_then_every_change(
    http_client: Http, changelog: Changelog, client: Client
) -> None:
    receipt = changelog.put(revenue(1, 1.0))
    client.view(changelog.view.name).get(minute="2026-09-01T10:00Z", customer=1, wait_for=receipt)
    with stream(http_client, changelog) as events:
        snapshot, progress = events.read(2)
        assert (snapshot.kind, snapshot.data["row"]["total"], snapshot.id) == (
            "snapshot",
            1.0,
            None,
        )
        assert progress.kind == "progress"
        assert progress.data["as_of"][str(receipt.partition)] == receipt.offset + 1
        changelog.put(revenue(1, 2.0))
        changelog.delete(minute="2026-09-01T10:00Z", customer=1)
        changed, deleted = events.read(2)
    assert changed.data["kind"] == "upsert"
    assert changed.data["row"]["total"] == 2.0
    assert changed.data["key"] == {"minute": "2026-09-01T10:00:00.000000Z", "customer": 1}
    assert (deleted.data["kind"], deleted.data["row"]) == ("delete", None)
    assert changed.id is not None
    assert f"{receipt.partition}:{receipt.offset + 2}" in changed.id


def test_without_a_snapshot_it_begins_with_what_comes_next(
    http_client: Http, changelog: Changelog
) -> None:
    changelog.put(revenue(1))
    with stream(http_client, changelog, snapshot="false") as events:
        assert [each.kind for each in events.read(1)] == ["progress"]
        changelog.put(revenue(2))
        found = iter(events)
        while (event := next(found)).data.get("row", {}).get("customer") != 2:
            pass
        assert event.kind == "change"


def test_a_subscriber_that_reconnects_a_hundred_times_sees_every_change_once(
    http_client: Http, new_changelog: Changelogs
) -> None:
    """Cut at random places, with changes going on: nothing is lost, nothing comes twice."""
    changelog, random = new_changelog(partitions=3), Random(11)
    count, seen = 1500, []

    def write() -> None:
        for number in range(count):
            changelog.start_put(revenue(random.randrange(40), float(number)))
            if number % 10 == 0:
                changelog.flush()
        changelog.flush()

    writer = threading.Thread(target=write)
    with stream(http_client, changelog, snapshot="false") as first:
        last_id = first.read(1)[0].id
    writer.start()
    for connection in range(101):
        wanted = count - len(seen) if connection == 100 else random.randrange(1, 15)
        with stream(http_client, changelog, last_id=last_id) as events:
            while wanted:
                (event,) = events.read(1)
                assert event.kind in ("change", "progress")
                last_id = event.id
                if event.kind == "change":
                    seen.append(event)
                    wanted -= 1
    writer.join()
    written = sorted((partition, offset) for _, _, partition, offset in changelog.records())
    assert len(written) == count
    assert sorted(offsets(seen)) == written


class Copy(threading.Thread):
    """A copy of a view, made of nothing but the events of a subscription."""

    def __init__(self, events: Stream) -> None:
        super().__init__()
        self.rows: dict[int, float] = {}
        self.places: list[tuple[int, int]] = []
        self._events = events
        self._ended: set[int] = set()

    def run(self) -> None:
        """Until the mark at the end of each of the three partitions."""
        while len(self._ended) < 3:
            (event,) = self._events.read(1)
            if event.kind != "progress":
                self._take(event)
        self._events.close()

    def _take(self, event: Event) -> None:
        customer, row = event.data["key"]["customer"], event.data["row"]
        self.rows.pop(customer, None)
        if row is not None:
            self.rows[customer] = row["total"]
        if event.kind == "change":
            self.places.append((event.data["partition"], event.data["offset"]))
            self._ended |= {event.data["partition"]} if customer == END else set()


END = 999


def test_a_snapshot_and_what_follows_it_have_no_gap_and_no_overlap(
    http_client: Http, new_changelog: Changelogs
) -> None:
    """Subscribers that come while changes go on end with the same rows, each change seen once."""
    changelog, random = new_changelog(partitions=3), Random(3)
    key = {"minute": "2026-09-01T10:00Z"}
    copies = []
    for number in range(2000):
        customer = random.randrange(100)
        if random.random() < 0.2:
            changelog.write(encode_key(changelog.view, {**key, "customer": customer}), None)
        else:
            changelog.start_put(revenue(customer, float(number)))
        if number % 200 == 100:
            copies.append(Copy(stream(http_client, changelog)))
            copies[-1].start()
    for partition in range(3):
        end = encode_key(changelog.view, {**key, "customer": END})
        changelog.write(end, None, partition=partition).result()
    changelog.flush()
    for each in copies:
        each.join(60)
    expected = {row["customer"]: row["total"] for row in changelog.table()}
    assert [each.rows == expected for each in copies] == [True] * 10
    assert [len(each.places) == len(set(each.places)) for each in copies] == [True] * 10


def test_changes_older_than_the_server_remembers_are_read_from_the_topic(
    broker: Broker, changelog: Changelog
) -> None:
    with ViewServer(broker.bootstrap, tail_bytes=20_000) as small:
        host = small.url.removeprefix("http://")
        path = f"/views/{changelog.view.name}/subscribe"
        while (first := Stream(host, path, snapshot="false")).status != 200:
            first.close()
        start = first.read(1)[0].id
        first.close()
        for number in range(800):
            changelog.start_put(revenue(number % 50, float(number)))
        changelog.flush()
        with Stream(host, path, last_id=start) as events:
            found = events.read(800)
            changelog.put(revenue(1, -1.0))
            found += events.read(1)
    written = sorted((partition, offset) for _, _, partition, offset in changelog.records())
    assert sorted(offsets(found)) == written


def test_a_slow_reader_is_told_to_begin_again_and_slows_nobody(
    broker: Broker, new_changelog: Changelogs, client: Client
) -> None:
    changelog, rounds = new_changelog(partitions=1), 60
    with ViewServer(broker.bootstrap, tail_bytes=300_000) as small:
        host = small.url.removeprefix("http://")
        path = f"/views/{changelog.view.name}/subscribe"
        while (slow := Stream(host, path, receive_bytes=4096)).status != 200:
            slow.close()
        slow.read(1)
        with Stream(host, path) as quick:
            quick.read(1)
            # More than the sockets' buffers between them and the tail can hold.
            for _ in range(rounds):
                for number in range(100):
                    changelog.start_put(revenue(number, name="x" * 1000))
                changelog.flush()
                assert [each.kind for each in quick.read(100)] == ["change"] * 100
        kinds: list[str] = []
        rows: dict[int, Any] = {}
        for event in slow:
            kinds.append(event.kind)
            if event.kind == "resync":
                assert "slower than changes arrived" in event.data["reason"]
                rows.clear()
            elif event.kind in ("snapshot", "change"):
                rows[event.data["key"]["customer"]] = event.data["row"]
            elif "resync" in kinds:
                break
        slow.close()
    assert kinds.count("change") < 100 * rounds
    assert sorted(rows) == list(range(100))
    assert client.connection


@pytest.mark.parametrize("last_id", ["x", "0", "0:", "0:1;1:2", "-1:2", "0:1@x", "9" * 100])
def test_an_id_that_is_none_is_refused(http_client: Http, shop: Changelog, last_id: str) -> None:
    with Stream(http_client.host, f"/views/{shop.view.name}/subscribe", last_id=last_id) as answer:
        assert answer.status == 400


@pytest.mark.parametrize(
    ("last_id", "reason"),
    [
        ("0:1@1790000000000@another.1", "built anew"),
        ("7:1", "does not have these partitions"),
        ("0:999999", "past the end of the topic"),
        ("1:999999", "past the end of the topic"),
    ],
)
def test_an_id_that_does_not_lead_on_means_to_begin_again(
    http_client: Http, changelog: Changelog, last_id: str, reason: str
) -> None:
    for number in range(8):
        changelog.put(revenue(number))
    changelog.wait_until_served()
    with stream(http_client, changelog, last_id=last_id) as events:
        resync, *rest = events.read(10)
    assert resync.kind == "resync"
    assert reason in resync.data["reason"]
    assert [each.kind for each in rest] == ["snapshot"] * 8 + ["progress"]
    # A browser whose connection breaks in the snapshot must not go on after the id that it had before.
    assert (resync.id, {each.id for each in rest[:-1]}) == ("", {None})


def test_an_id_from_before_deletions_were_forgotten_means_to_begin_again(
    broker: Broker, changelog: Changelog
) -> None:
    for number in range(8):
        changelog.put(revenue(number))
    with ViewServer(broker.bootstrap) as fresh:  # its tail begins where the store is
        host = fresh.url.removeprefix("http://")
        path = f"/views/{changelog.view.name}/subscribe"
        while (first := Stream(host, path, snapshot="false")).status != 200:
            first.close()
        tag = (first.read(1)[0].id or "").rpartition("@")[2]
        first.close()
        long_ago = f"0:1,1:1@1000@{tag}"
        with Stream(host, path, last_id=long_ago) as events:
            resync = events.read(1)[0]
    assert resync.kind == "resync"
    assert "deletions since then may be gone" in resync.data["reason"]


def test_a_view_that_stood_still_for_too_long_begins_again_also_for_those_who_stayed(
    broker: Broker, changelog: Changelog
) -> None:
    """What was deleted meanwhile may have gone from the topic: neither they nor their ids lead on."""
    changelog.put(revenue(7))
    clock, name = SettableClock(), changelog.view.name
    with ViewServer(broker.bootstrap, clock=clock) as server:
        http, path = Http(server.url), f"/views/{name}/subscribe"
        while http.get(f"/views/{name}")[1].get("rows") != 1:
            pass
        with Stream(http.host, path) as stayed:
            assert [each.kind for each in stayed.read(2)] == ["snapshot", "progress"]
            http.ask("POST", f"/v1/views/{name}/pause")
            while http.get(f"/views/{name}")[1]["state"] != "paused":
                pass
            changelog.delete(minute="2026-09-01T10:00Z", customer=7)
            changelog.put(revenue(8))
            clock.advance(seconds=25 * 3600)
            with Stream(http.host, path) as short:
                late_id = short.read(2)[1].id
            http.ask("POST", f"/v1/views/{name}/resume")
            resync, row, _ = stayed.read(3)
        assert "delete.retention.ms" in resync.data["reason"]
        assert (row.kind, row.data["key"]["customer"]) == ("snapshot", 8)
        with Stream(http.host, path, last_id=late_id) as again:
            assert again.read(1)[0].kind == "resync"


def test_a_filter_by_key_brings_only_its_rows(http_client: Http, changelog: Changelog) -> None:
    with stream(http_client, changelog, where="customer == 2") as events:
        events.read(1)
        for customer in (1, 2, 3, 2):
            changelog.put(revenue(customer, float(customer)))
        changelog.delete(minute="2026-09-01T10:00Z", customer=3)
        changelog.delete(minute="2026-09-01T10:00Z", customer=2)
        found = events.read(3)
    assert [each.data["kind"] for each in found] == ["upsert", "upsert", "delete"]
    assert {each.data["key"]["customer"] for each in found} == {2}


def test_a_row_that_leaves_a_filter_is_gone_for_its_subscriber(
    http_client: Http, new_changelog: Changelogs, client: Client
) -> None:
    changelog = new_changelog(partitions=1)
    for customer, total in ((1, 5.0), (2, 50.0)):
        receipt = changelog.put(revenue(customer, total))
    client.view(changelog.view.name).get(minute="2026-09-01T10:00Z", customer=2, wait_for=receipt)
    with stream(http_client, changelog, where="total > 10") as events:
        snapshot, _ = events.read(2)
        assert snapshot.data["key"]["customer"] == 2
        changelog.put(revenue(1, 6.0))  # outside before and after: not told
        changelog.put(revenue(1, 60.0))  # enters
        changelog.put(revenue(2, 3.0))  # leaves
        changelog.put(revenue(2, 2.0))  # stays outside: not told
        changelog.delete(minute="2026-09-01T10:00Z", customer=2)  # not told
        changelog.delete(minute="2026-09-01T10:00Z", customer=1)
        found = events.read(3)
    assert [(each.data["kind"], each.data["key"]["customer"]) for each in found] == [
        ("upsert", 1),
        ("delete", 2),
        ("delete", 1),
    ]


def test_a_row_leaves_a_filter_however_its_key_is_spelt(
    http_client: Http, new_changelog: Changelogs
) -> None:
    changelog = new_changelog(partitions=1)
    otherwise = b'{"minute":"2026-09-01T10:00Z","customer":%d}'
    for customer in (1, 2, 3):
        changelog.put(revenue(customer, 50.0))
    changelog.wait_until_served()
    with stream(http_client, changelog, where="total > 10") as events:
        events.read(4)
        leaves = (otherwise % 1)[:-1] + b',"total":1.0}'
        changelog.write(otherwise % 1, leaves).result()
        changelog.write(otherwise % 2, None).result()
        changelog.put(revenue(3, 60.0))
        found = events.read(3)
    assert [(each.data["kind"], each.data["key"]["customer"]) for each in found] == [
        ("delete", 1),
        ("delete", 2),
        ("upsert", 3),
    ]


def test_a_row_leaves_a_filter_however_its_key_is_spelt_within_one_batch(
    http_client: Http, new_changelog: Changelogs, client: Client
) -> None:
    changelog = new_changelog(partitions=1)
    key = b'{"minute":"2026-09-01T10:00:00.000000Z","customer":1}'
    odd = b'{"minute":"2026-09-01T10:00Z","customer":1}'
    batch = [(key, b"50.0"), (odd, b"1.0"), (key, b"60.0"), (odd, b"2.0")]
    with stream(http_client, changelog, where="total > 10") as events:
        events.read(1)
        with client.producer(value_format="bytes", linger_ms=500) as producer:
            for each, total in batch:
                producer.send(changelog.view.topic, each[:-1] + b',"total":%b}' % total, key=each)
        found = events.read(4)
    assert [each.data["kind"] for each in found] == ["upsert", "delete"] * 2


def test_a_key_that_is_no_text_stops_no_view_that_is_watched_with_a_filter(
    http_client: Http, new_changelog: Changelogs
) -> None:
    changelog = new_changelog(partitions=1, columns={"id": "string", "n": "int"}, key=("id",))
    with stream(http_client, changelog, where="n > 1") as events:
        events.read(1)
        changelog.write(b'{"id":"\xff"}', None).result()
        changelog.put({"id": "a", "n": 2})
        (change,) = events.read(1)
    assert (change.kind, change.data["key"]) == ("change", {"id": "a"})
    _, status = http_client.get(f"/views/{changelog.view.name}")
    assert (status["state"], status["rejected"]) == ("following", 1)


def test_a_row_is_in_the_feed_if_it_is_in_the_store(
    http_client: Http, new_changelog: Changelogs, client: Client
) -> None:
    """One that fits is followed at once by one that does not."""
    changelog = new_changelog(partitions=1, columns={"id": "int", "n": "tinyint"}, key=("id",))
    with stream(http_client, changelog) as events:
        events.read(1)
        with client.producer(value_format="bytes", linger_ms=500) as producer:
            for n in (5, 500):
                producer.send(changelog.view.topic, b'{"id":1,"n":%d}' % n, key=b'{"id":1}')
        (change,) = events.read(1)
    assert change.data["row"] == {"id": 1, "n": 5}
    assert client.view(changelog.view.name).get(id=1) == {"id": 1, "n": 5}


def test_a_view_that_is_built_again_goes_on_for_its_subscribers(
    http_client: Http, changelog: Changelog
) -> None:
    with stream(http_client, changelog) as events:
        events.read(1)
        changelog.put(revenue(1))
        assert offsets(events.read(1))
        http_client.ask("POST", f"/v1/views/{changelog.view.name}/rebuild")
        changelog.put(revenue(2))
        (change,) = events.read(1)
    assert (change.kind, change.data["key"]["customer"]) == ("change", 2)


def test_a_new_version_begins_again_with_its_columns(
    http_client: Http, changelog: Changelog, client: Client
) -> None:
    from dataclasses import replace

    from headwater.views import Column, parse_type

    changelog.put(revenue(1))
    with stream(http_client, changelog) as events:
        while events.read(1)[0].kind != "progress":
            pass
        view = changelog.view
        vip = Column("vip", parse_type("boolean"))
        client.admin.views.define(replace(view, version=2, columns=(*view.columns, vip)))
        found = iter(events)
        while (event := next(found)).kind != "resync":
            pass
        assert "built anew" in event.data["reason"]
        assert next(found).data["row"]["vip"] is None


def test_a_view_that_is_dropped_ends_its_subscriptions(
    http_client: Http, changelog: Changelog, client: Client
) -> None:
    with stream(http_client, changelog) as events:
        events.read(1)
        client.admin.views.drop(changelog.view.name)
        assert [each.kind for each in events] == []


def test_records_of_a_topic_can_be_watched_and_resumed(http_client: Http, client: Client) -> None:
    topic = new_name("orders")
    client.admin.topics.create(topic, partitions=1, replicas=1)
    path = f"/topics/{topic}/subscribe"
    with Stream(http_client.host, path, where="value.total > 10") as events:
        assert events.read(1)[0].kind == "progress"
        for total in (5, 20, 30):
            client.send(topic, {"total": total}, key="k", headers={"h": "x"})
        (first,) = events.read(1)
    assert first.kind == "record"
    assert first.data["value"] == {"total": 20}
    assert first.data["headers"] == [{"name": "h", "value": "x"}]
    with Stream(http_client.host, path, last_id=first.id) as events:
        assert [each.data["value"]["total"] for each in events.read(1)] == [30]
    with Stream(http_client.host, f"/topics/{topic}x/subscribe") as answer:
        assert answer.status == 404


def test_an_id_past_the_end_of_a_watched_topic_means_to_begin_again(
    http_client: Http, client: Client
) -> None:
    topic = new_name("t")
    client.admin.topics.create(topic, partitions=1, replicas=1)
    client.send(topic, "before")
    with Stream(http_client.host, f"/topics/{topic}/subscribe", last_id="0:999999") as events:
        resync, progress = events.read(2)
        client.send(topic, "after")
        (record,) = events.read(1)
    assert (resync.kind, progress.kind, record.data["value"]) == ("resync", "progress", "after")
    assert "past the end of the topic" in resync.data["reason"]


def test_an_id_of_a_server_that_is_ahead_of_this_one_leads_on(
    broker: Broker, new_changelog: Changelogs
) -> None:
    changelog = new_changelog(partitions=1)
    with ViewServer(broker.bootstrap) as behind:
        host, name = behind.url.removeprefix("http://"), changelog.view.name
        path = f"/views/{name}/subscribe"
        while (first := Stream(host, path)).status != 200:
            first.close()
        first.close()
        status, _ = Http(behind.url).ask("POST", f"/v1/views/{name}/pause")
        assert status == 200
        while Http(behind.url).get(f"/views/{name}")[1]["state"] != "paused":
            pass
        for number in range(3):
            changelog.put(revenue(number))
        with Stream(host, path, last_id="0:2") as events:
            Http(behind.url).ask("POST", f"/v1/views/{name}/resume")
            (change,) = events.read(1)
    assert (change.kind, change.data["offset"]) == ("change", 2)


def test_progress_never_leads_a_reader_back(
    broker: Broker, new_changelog: Changelogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that has read the topic itself is ahead of a view that stands still; its id must stay so."""
    monkeypatch.setattr(subscription, "HEARTBEAT_S", 0.2)
    changelog = new_changelog(partitions=1)
    with ViewServer(broker.bootstrap) as behind:
        http, name = Http(behind.url), changelog.view.name
        while not http.get(f"/views/{name}")[1].get("as_of"):
            pass
        http.ask("POST", f"/v1/views/{name}/pause")
        while http.get(f"/views/{name}")[1]["state"] != "paused":
            pass
        for number in range(3):
            changelog.put(revenue(number))
        with Stream(http.host, f"/views/{name}/subscribe", last_id="0:3") as events:
            (progress,) = events.read(1)
    assert (progress.kind, progress.data["as_of"]) == ("progress", {"0": 3})


def test_progress_goes_beyond_the_markers_of_transactions(
    broker: Broker,
    http_client: Http,
    new_changelog: Changelogs,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(subscription, "HEARTBEAT_S", 0.2)
    changelog = new_changelog(partitions=1)
    with stream(http_client, changelog) as events:
        assert events.read(1)[0].kind == "progress"
        writer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": new_name()})
        writer.init_transactions()
        writer.begin_transaction()
        key = encode_key(changelog.view, {"minute": "2026-09-01T10:00Z", "customer": 7})
        writer.produce(changelog.view.topic, key, key)
        writer.commit_transaction()
        seen = next(each for each in events if each.kind == "change")
        assert seen.data["offset"] == 0
        last = next(each for each in events if each.data["as_of"] == {"0": 2})
    assert last.kind == "progress"


def test_there_are_only_so_many_subscribers(broker: Broker, changelog: Changelog) -> None:
    with ViewServer(broker.bootstrap, max_subscribers=2) as small:
        host = small.url.removeprefix("http://")
        path = f"/views/{changelog.view.name}/subscribe"
        while (first := Stream(host, path)).status != 200:
            first.close()
        second, third = Stream(host, path), Stream(host, path)
        assert (second.status, third.status) == (200, 503)
        third.close()
        second.close()
        while (again := Stream(host, path)).status != 200:  # the place is free once it is noticed
            again.close()
        again.close()
        first.close()


def test_the_client_reads_typed_changes_and_goes_on_over_a_restart_of_the_server(
    broker: Broker, changelog: Changelog, tmp_path: Any
) -> None:
    import headwater

    data = tmp_path / "views"
    server = ViewServer(broker.bootstrap, data=data).start()
    port = server.url.rpartition(":")[2]
    with headwater.connect(broker.bootstrap, views=server.url) as client:
        changelog.put(revenue(7, 1.5))
        view = client.view(changelog.view.name)
        while True:
            try:
                view.describe()
                break
            except Unavailable:
                continue
        with view.subscribe(customer=7) as changes:
            found = iter(changes)
            first: Change = next(found)
            assert first.row is not None
            assert (first.kind, first.row["minute"].isoformat()) in (
                ("snapshot", "2026-09-01T10:00:00+00:00"),
                ("upsert", "2026-09-01T10:00:00+00:00"),
            )
            server.stop()
            changelog.put(revenue(7, 2.5))
            changelog.put(revenue(8, 2.5))
            changelog.delete(minute="2026-09-01T10:00Z", customer=7)
            again = ViewServer(broker.bootstrap, data=data, http=f"127.0.0.1:{port}").start()
            second, third = next(found), next(found)
        again.stop()
    assert second.row is not None
    assert (second.kind, second.row["total"], third.kind, third.row) == (
        "upsert",
        2.5,
        "delete",
        None,
    )
    assert third.as_of is not None
    assert third.id == changes.last_id


def test_what_is_wrong_with_a_subscription_is_raised(client: Client, shop: Changelog) -> None:
    view = client.view(shop.view.name)
    with pytest.raises(InvalidRequest, match="has no column 'price'"):
        next(iter(view.subscribe("price > 1")))
    with pytest.raises(InvalidRequest, match="has no column 'price'"):
        view.subscribe(price=1)
    with pytest.raises(NotFound, match="there is no view"):
        client.view("nowhere").subscribe()
