"""Which broker the scenarios in `conformance/` and `clients/` talk to: ours, or Apache Kafka."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir
from xdist.remote import Producer

from rigs import effort
from rigs.brokers import RIGS, Broker
from rigs.process import Unavailable
from rigs.scheduling import ByFile


def pytest_configure(config: pytest.Config) -> None:
    # What Hypothesis remembers names files of this machine: it belongs to the environment, not to the tree.
    set_hypothesis_home_dir(Path(sys.prefix) / "hypothesis")
    effort.times = config.getoption("--times")
    if effort.times > 1:
        many = effort.examples(settings.default.max_examples)
        settings.register_profile("many times", max_examples=many, deadline=None)
        settings.load_profile("many times")
    # kafka-python reads its schemas in a way that Python 3.11 calls old.
    config.addinivalue_line(
        "filterwarnings", "ignore:(read|open)_text is deprecated:DeprecationWarning"
    )


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    config.option.loadscopereorder = False  # How many tests a file has says nothing of its time.
    return ByFile(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--broker",
        default="headwater",
        help="what conformance and client tests run on: headwater, kafka, or HOST:PORT of a broker",
    )
    parser.addoption(
        "--times",
        type=int,
        default=1,
        help="try that many times as many examples in property tests and fuzzers",
    )


@pytest.fixture(autouse=True)
def process_as_before() -> Iterator[None]:
    """What commands and pipelines change in their process does not outlive a test."""
    root, path = logging.getLogger(), sys.path.copy()
    level = root.level
    yield
    sys.path[:] = path
    for each in root.handlers.copy():
        if type(each) is logging.StreamHandler:  # pytest's own are of other types
            root.removeHandler(each)
            root.setLevel(level)


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
