"""The brokers that the same tests run on, by name: ours, and Apache Kafka."""

from collections.abc import Callable
from typing import Final

from rigs.apache_kafka import ApacheKafka
from rigs.headwater_process import HeadwaterProcess

Broker = HeadwaterProcess | ApacheKafka

# Housekeeping is made frequent, so that its effects can be seen quickly.
RIGS: Final[dict[str, Callable[[], Broker]]] = {
    "headwater": lambda: HeadwaterProcess(
        {"retention_check_ms": "200", "compaction_check_ms": "100"}
    ),
    "kafka": lambda: ApacheKafka(
        {
            "offsets.topic.num.partitions": "4",
            "transaction.state.log.num.partitions": "4",
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
            "log.initial.task.delay.ms": "100",
            "log.retention.check.interval.ms": "200",
            "log.segment.delete.delay.ms": "100",
            "log.cleaner.backoff.ms": "100",
        }
    ),
}
