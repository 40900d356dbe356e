"""A request whose batches go to one partition twice: the coordinator is asked about one of them only."""

import pytest

from broker.calls import create_topic
from conformance.raw import Connection
from conformance.transactional import NEW, Transactional, committed_values
from headwater.testing import Broker


def test_a_second_batch_for_a_partition_opens_no_transaction_that_nobody_knows() -> None:
    with Broker() as broker, Connection(broker.bootstrap) as connection:
        create_topic(broker, "t")
        producer = Transactional(connection, "tx", NEW).start()
        stranger = producer.producer_id + 1
        batches = [
            {"index": 0, "records": producer.records(b"other", producer_id=stranger)},
            {"index": 0, "records": producer.records(b"own")},
        ]
        with Connection(broker.bootstrap) as other, pytest.raises(ConnectionError):
            other.request(
                "produce",
                NEW.produce,
                transactional_id="tx",
                acks=-1,
                timeout=1000,
                topic_data=[{"name": "t", "partition_data": batches}],
            )
        producer.send("t", b"a")
        producer.commit()
        assert committed_values(connection, "t") == [b"a"]
