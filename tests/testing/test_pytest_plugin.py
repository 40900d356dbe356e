"""`headwater_broker` in a user's test suite, which knows nothing of ours."""

from pathlib import Path

from testing.user_suite import run_suite


def test_the_fixture_gives_each_test_its_own_broker(tmp_path: Path) -> None:
    output = run_suite(
        tmp_path,
        test_orders="""
        from confluent_kafka import Producer

        seen = []

        def test_one(headwater_broker):
            producer = Producer({"bootstrap.servers": headwater_broker.bootstrap})
            producer.produce("orders", b"1")
            assert producer.flush(30) == 0
            assert headwater_broker.topic("orders").values() == [1]
            seen.append(headwater_broker.data)

        def test_two(headwater_broker):
            assert "orders" not in [each.name for each in headwater_broker.embedded.topics]
            assert headwater_broker.data not in seen
        """,
    )
    assert "2 passed" in output


def test_a_suite_that_does_not_use_it_does_not_load_the_broker(tmp_path: Path) -> None:
    run_suite(
        tmp_path,
        test_other="""
        import sys

        def test_nothing():
            assert "headwater.testing.broker" not in sys.modules
        """,
    )
