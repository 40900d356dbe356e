"""Subscriptions to a topic that changes its shape under them."""

import headwater
from headwater.client import Client
from headwater.testing import Broker, SettableClock, ViewServer
from rigs.changelog import new_name
from serve.conftest import Http
from serve.sse import Stream


def test_records_of_partitions_that_are_added_are_seen_from_the_first_one_on(
    broker: Broker, client: Client
) -> None:
    topic = new_name("grows")
    client.admin.topics.create(topic, partitions=1, replicas=1)
    clock = SettableClock()
    with ViewServer(broker.bootstrap, clock=clock) as server:
        host, path = server.url.removeprefix("http://"), f"/topics/{topic}/subscribe"
        with Stream(host, path) as events:
            assert events.read(1)[0].kind == "progress"
            client.send(topic, "before", partition=0)
            (before,) = events.read(1)
            client.admin.topics.add_partitions(topic, total=3)
            with headwater.connect(broker.bootstrap) as knows_them:
                knows_them.send(topic, "first of a new one", partition=2)
                clock.advance(seconds=6)
                (added,) = events.read(1)
                knows_them.send(topic, "second", partition=2)
            (second,) = events.read(1)
        assert [each.data["value"] for each in (before, added, second)] == [
            "before",
            "first of a new one",
            "second",
        ]
        with Stream(host, path, last_id=before.id) as again:  # an id from before they were there
            assert [each.data["offset"] for each in again.read(2)] == [0, 1]
        with Stream(host, path, last_id=added.id) as again:
            assert [each.data["value"] for each in again.read(1)] == ["second"]


def test_an_id_of_very_many_partitions_is_taken_back(http_client: Http, client: Client) -> None:
    topic = new_name("wide")
    client.admin.topics.create(topic, partitions=2000, replicas=1)
    path = f"/topics/{topic}/subscribe"
    with Stream(http_client.host, path) as events:
        (begun,) = events.read(1)
        assert begun.id is not None
        assert len(begun.id) > 10_000
    client.send(topic, "meanwhile", partition=1999)
    with Stream(http_client.host, path, last_id=begun.id) as again:
        assert again.status == 200
        assert [each.data["value"] for each in again.read(1)] == ["meanwhile"]
    client.admin.topics.delete(topic)


def test_a_slow_reader_of_a_topic_misses_nothing(broker: Broker, client: Client) -> None:
    topic, count = new_name("fast"), 6000
    client.admin.topics.create(topic, partitions=1, replicas=1)
    path = f"/topics/{topic}/subscribe"
    with ViewServer(broker.bootstrap, tail_bytes=100_000) as small:
        host = small.url.removeprefix("http://")
        with Stream(host, path, receive_bytes=4096) as slow, Stream(host, path) as quick:
            slow.read(1)
            quick.read(1)
            with client.producer() as producer:
                # More than the sockets' buffers between them and the tail can hold.
                for number in range(count):
                    producer.send(topic, {"n": number, "x": "x" * 1000})
            while not any(
                each.kind == "record" and each.data["offset"] == count - 1 for each in quick.read(1)
            ):
                pass
            found: list[int] = []
            while len(found) < count:
                (event,) = slow.read(1)
                assert event.kind in ("record", "progress")
                if event.kind == "record":
                    found.append(event.data["offset"])
    assert found == list(range(count))


def test_an_id_of_a_server_that_knows_of_new_partitions_sooner_is_kept(
    broker: Broker, client: Client
) -> None:
    topic = new_name("grows")
    client.admin.topics.create(topic, partitions=1, replicas=1)
    # Its time stands still: it never looks again how many there are.
    with ViewServer(broker.bootstrap, clock=SettableClock()) as server:
        host, path = server.url.removeprefix("http://"), f"/topics/{topic}/subscribe"
        with Stream(host, path) as events:
            (begun,) = events.read(1)
            assert begun.id is not None
            client.admin.topics.add_partitions(topic, total=2)
            with Stream(host, path, last_id=begun.id.replace("0:0", "0:0,1:0")) as elsewhere:
                (answer,) = elsewhere.read(1)
        assert (answer.kind, answer.data["kind"], answer.id) == ("failed", "Unavailable", None)
