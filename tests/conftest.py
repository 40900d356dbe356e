"""Which broker the scenarios in `conformance/` and `clients/` talk to: ours, or Apache Kafka."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Final

import pytest

from rigs.apache_kafka import ApacheKafka
from rigs.headwater_process import HeadwaterProcess
from rigs.process import Unavailable

# Housekeeping is made frequent, so that its effects can be seen quickly.
RIGS: Final[dict[str, Callable[[], HeadwaterProcess | ApacheKafka]]] = {
    "headwater": lambda: HeadwaterProcess(
        {"retention_check_ms": "200", "compaction_check_ms": "100"}
    ),
    "kafka": lambda: ApacheKafka(
        {
            "offsets.topic.num.partitions": "4",
            "log.initial.task.delay.ms": "100",
            "log.retention.check.interval.ms": "200",
            "log.segment.delete.delay.ms": "100",
            "log.cleaner.backoff.ms": "100",
        }
    ),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--broker",
        default="headwater",
        help="what conformance and client tests run on: headwater, kafka, or HOST:PORT of a broker",
    )


@pytest.fixture(scope="session")
def bootstrap(request: pytest.FixtureRequest) -> Iterator[str]:
    broker = request.config.getoption("--broker")
    if ":" in broker:
        yield broker
        return
    with ExitStack() as stack:
        try:
            process = stack.enter_context(RIGS[broker]())
        except Unavailable as reason:
            pytest.skip(str(reason))
        yield process.bootstrap
