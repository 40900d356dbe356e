"""A disk that fails while a topic is created is an error of that topic, not of the connection."""

import errno
from pathlib import Path

import pytest
from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient

from headwater.testing import Broker
from headwater.testing.disk import Fault, FaultyDisk


def test_full_disk_while_a_topic_is_created_is_told_and_passes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk = FaultyDisk()
    with Broker(data=tmp_path, disk=disk) as broker:
        disk.inject(Fault("append", errno.ENOSPC, path="__cluster_metadata-0/*", written=0))
        options = {"bootstrap.servers": broker.bootstrap, "allow.auto.create.topics": True}
        admin = AdminClient(options)
        refused = admin.list_topics("orders", timeout=10).topics["orders"]
        assert refused.error is not None
        assert refused.error.code() == KafkaError.KAFKA_STORAGE_ERROR
        disk.heal()
        created = admin.list_topics("orders", timeout=10).topics["orders"]
        assert created.error is None
    assert "a request failed" not in caplog.text
