"""SIGTERM: clients connected, polls open, data on its way; the broker ends soon and cleanly."""

from pathlib import Path
from threading import Thread

from broker.calls import LONG_MS, create_topic, fetch_data, produce_data, wait_until
from broker.slow_disk import SlowDisk
from conformance.batches import batch
from conformance.raw import Connection
from headwater.testing import Broker
from rigs.headwater_process import HeadwaterProcess

SOON_S = 10


def test_a_broker_with_waiting_clients_ends_soon_and_cleanly(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with HeadwaterProcess(directory=data) as broker:
        poll, member, other, producer = (Connection(broker.bootstrap) for _ in range(4))
        producer.request("metadata", 9, topics=[{"name": "a"}], allow_auto_topic_creation=True)
        joined = {
            "group_id": "g",
            "session_timeout": 60_000,
            "rebalance_timeout": LONG_MS,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b""}],
        }
        member.request("join_group", 2, **joined)
        other.send("join_group", 2, **joined)
        poll.send("fetch", 11, **fetch_data("a", max_wait=LONG_MS))
        acknowledged = 0
        for number in range(200):
            producer.send("produce", 9, **produce_data("a", batch(b"%d" % number)))
        for _ in range(100):
            producer.receive()
            acknowledged += 1
        broker.process.stop(within_s=SOON_S)
        assert broker.process.process is not None
        assert broker.process.process.returncode == 0
        assert (data / "clean-shutdown").exists()
        try:
            while True:
                producer.receive()
                acknowledged += 1
        except (ConnectionError, IndexError):
            pass
        for each in (poll, member, other, producer):
            each.close()

        broker.restart()
        assert "unclean" not in broker.process.log.read_text()
        assert not (data / "clean-shutdown").exists()
        with Connection(broker.bootstrap) as connection:
            asked = [{"name": "a", "partitions": [{"partition_index": 0, "timestamp": -1}]}]
            answer = connection.request("list_offsets", 2, replica_id=-1, topics=asked)
            assert answer.topics[0].partitions[0].offset >= acknowledged


def test_a_producer_whose_batch_is_being_synced_is_told_so_before_the_end() -> None:
    disk = SlowDisk()
    with Broker(disk=disk) as broker, Connection(broker.bootstrap) as producer:
        create_topic(broker, "orders")
        server = broker._server
        assert server is not None
        disk.hold()
        producer.send("produce", 9, **produce_data("orders", batch(b"1")))
        assert disk.is_waiting.wait(30)
        ending = Thread(target=broker.stop)
        ending.start()
        wait_until(broker, lambda: all(each._is_ending for each in server._connections))
        disk.release()
        assert producer.receive().responses[0].partition_responses[0].error_code == 0
        ending.join(30)
