"""Which broker the scenarios in `conformance/` and `clients/` talk to: ours, or Apache Kafka."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
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
            "transaction.state.log.num.partitions": "4",
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
            "log.initial.task.delay.ms": "100",
            "log.retention.check.interval.ms": "200",
            "log.segment.delete.delay.ms": "100",
            "log.cleaner.backoff.ms": "100",
        }
    ),
}


def pytest_configure(config: pytest.Config) -> None:
    # kafka-python reads its schemas in a way that Python 3.11 calls old.
    config.addinivalue_line(
        "filterwarnings", "ignore:(read|open)_text is deprecated:DeprecationWarning"
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--broker",
        default="headwater",
        help="what conformance and client tests run on: headwater, kafka, or HOST:PORT of a broker",
    )


@pytest.fixture(scope="module")
def own_broker(request: pytest.FixtureRequest) -> Iterator[HeadwaterProcess | ApacheKafka]:
    """A broker for one module alone, which may stop, kill and restart it."""
    broker = request.config.getoption("--broker")
    if ":" in broker:
        pytest.skip("a broker that runs elsewhere cannot be restarted")
    with running(RIGS[broker]) as process:
        yield process


@pytest.fixture(scope="session")
def bootstrap(request: pytest.FixtureRequest) -> Iterator[str]:
    broker = request.config.getoption("--broker")
    if ":" in broker:
        yield broker
        return
    with running(RIGS[broker]) as process:
        yield process.bootstrap


@contextmanager
def running(
    rig: Callable[[], HeadwaterProcess | ApacheKafka],
) -> Iterator[HeadwaterProcess | ApacheKafka]:
    """Start the broker, or skip with the reason why this machine cannot."""
    with ExitStack() as stack:
        try:
            process = stack.enter_context(rig())
        except Unavailable as reason:
            pytest.skip(str(reason))
        yield process
