"""Dead letters by query: a value that several queries cannot read is one of each, not all of all."""

import pytest

import headwater
from headwater.client import Client
from headwater.streams.run.dead_counts import DeadCounts
from headwater.streams.run.surroundings import Surroundings
from headwater.streams.source.dead_letters import QUERY
from headwater.testing import Broker
from streams.shop import Shop

DEAD = "orders.dead"


@pytest.fixture
def counts(broker: Broker, tmp_path) -> DeadCounts:
    return DeadCounts(Surroundings(broker.bootstrap, tmp_path))


def write(client: Client, query: str | None, count: int) -> None:
    with client.producer() as producer:
        for _ in range(count):
            headers = {"their": "own"} if query is None else {"their": "own", QUERY: query}
            producer.send(DEAD, "x", headers=headers)


def test_a_letter_counts_for_the_query_that_wrote_it_and_once_however_often_it_is_looked_at(
    broker: Broker, counts: DeadCounts
) -> None:
    counts.look([DEAD])
    assert counts.of("shop.a", [DEAD]) == 0
    with headwater.connect(broker.bootstrap) as client:
        client.admin.topics.create(DEAD, partitions=2)
        write(client, "shop.a", 3)
        write(client, "shop.b", 2)
        counts.look([DEAD])
        write(client, "shop.a", 1)
        write(client, None, 4)
        counts.look([DEAD])
        counts.look([DEAD])
        found = {name: counts.of(name, [DEAD]) for name in ("shop.a", "shop.b", "shop.c")}
        assert found == {"shop.a": 8, "shop.b": 6, "shop.c": 4}, "letters of nobody are of all"
        assert counts.of("shop.a", ["other.dead"]) == 0


def test_letters_that_were_removed_count_no_more(broker: Broker, counts: DeadCounts) -> None:
    with headwater.connect(broker.bootstrap) as client:
        topics = client.admin.topics
        topics.create(DEAD, partitions=1)
        write(client, "shop.a", 3)
        counts.look([DEAD])
        topics.trim(topics.plan_trim(DEAD, before=2))
        counts.look([DEAD])
        assert counts.of("shop.a", [DEAD]) == 1
        topics.delete(DEAD)
        counts.look([DEAD])
        assert counts.of("shop.a", [DEAD]) == 0
        topics.create(DEAD, partitions=1)
        write(client, "shop.a", 5)
        counts.look([DEAD])
        assert counts.of("shop.a", [DEAD]) == 5


def test_a_value_that_two_queries_cannot_read_counts_once_for_each(shop: Shop) -> None:
    for name in ("one", "two"):
        shop.pipeline.table(name=name)(lambda orders: orders.select("id"))
    shop.client.send(shop.orders_topic, "no order")
    assert {name: status.dead for name, status in shop.once().items()} == {"one": 1, "two": 1}
    with shop.client.consumer(f"{shop.orders_topic}.dead", until="end") as letters:
        writers = {dict(each.headers)[QUERY] for each in letters}
    assert {str(each, "utf-8") for each in writers} == {
        f"{shop.pipeline.name}.one",
        f"{shop.pipeline.name}.two",
    }
