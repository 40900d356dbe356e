"""Which broker the scenarios in `conformance/` and `clients/` talk to: ours, or Apache Kafka."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from rigs.brokers import RIGS, Broker
from rigs.process import Unavailable


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
def own_broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
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
def running(rig: Callable[[], Broker]) -> Iterator[Broker]:
    """Start the broker, or skip with the reason why this machine cannot."""
    with ExitStack() as stack:
        try:
            process = stack.enter_context(rig())
        except Unavailable as reason:
            pytest.skip(str(reason))
        yield process
