"""A run of a benchmark on our broker and Apache Kafka: its arguments, its progress, what is kept of it."""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

import page
from results import OURS, THEIRS, Measure, Results
from tables import terminal
from watch import OtherPrograms

from rigs.apache_kafka import ApacheKafka, kafka_libs
from rigs.brokers import Broker
from rigs.headwater_process import HeadwaterProcess
from rigs.process import Unavailable

NewBroker = Callable[[], Broker]
Report = Callable[[str, float], None]
Sides = list[tuple[Broker, Report]]
"""The brokers of a run, each with what notes its samples."""

# Above this, the numbers say more about the other programs than about the brokers.
QUIET_CORES: Final = 0.1


def arguments(description: str) -> argparse.ArgumentParser:
    """What every benchmark can be asked for."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="less data, one round")
    parser.add_argument("--render", action="store_true", help="write the page from the last JSON")
    parser.add_argument("--only", choices=(OURS, THEIRS), help="one broker")
    return parser


class Run:
    """One run over both brokers, in turn, so that a slow minute of the machine hits both."""

    def __init__(
        self, benchmark: str, measure_of: Callable[[str], Measure], asked: argparse.Namespace
    ) -> None:
        self.measure_of = measure_of
        command = " ".join(["python", f"bench/{benchmark}.py", *sys.argv[1:]])
        self.found = Results(benchmark, "quick" if asked.quick else "full", command)
        self.brokers: dict[str, NewBroker] = {OURS: HeadwaterProcess, THEIRS: ApacheKafka}
        if asked.only:
            self.brokers = {asked.only: self.brokers[asked.only]}
        self._leave_out_what_is_not_here()
        self.began = time.monotonic()
        self.others = OtherPrograms()

    def _leave_out_what_is_not_here(self) -> None:
        try:
            kafka_libs()
        except Unavailable as reason:
            self.leave_out(THEIRS, str(reason))

    def leave_out(self, broker: str, reason: str) -> None:
        """Go on without one side, and say so."""
        if self.brokers.pop(broker, None) is not None:
            note = f"{self.found.against} was not measured: {reason}."
            self.found.notes.append(note)
            print(note, flush=True)

    def each(self, measure: Callable[[NewBroker, Report], None], times: int = 1) -> None:
        """Measure each broker, as a new process of its own."""
        for _ in range(times):
            for name, new_broker in self.brokers.items():
                measure(new_broker, self.reporter(name))

    def running(self, measure: Callable[[Broker, Report], None]) -> None:
        """Measure each broker while it runs, alone."""

        def measure_it(new_broker: NewBroker, report: Report) -> None:
            with new_broker() as broker:
                measure(broker, report)

        self.each(measure_it)

    @contextmanager
    def side_by_side(self) -> Iterator[dict[str, Broker]]:
        """All brokers at the same time, for loads that take turns between them."""
        with ExitStack() as stack:
            yield {name: stack.enter_context(new()) for name, new in self.brokers.items()}

    def by_turns(
        self, warm_up: Callable[[Broker], None], *measures: Callable[[Sides], None], rounds: int
    ) -> None:
        """Measure while all brokers run, in turn: a slow minute of the machine hits both sides.

        Each is the first in every other round: the first may meet memory that the machine has to get.
        """
        with self.side_by_side() as brokers:
            sides = [(broker, self.reporter(name)) for name, broker in brokers.items()]
            for broker in brokers.values():
                warm_up(broker)
            for number in range(rounds):
                for measure in measures:
                    measure(sides[:: -1 if number % 2 else 1])

    def finish(self, *, is_whole: bool) -> None:
        """Show the numbers and keep them; a whole run is also written into the docs."""
        self.found.notes.append(disturbance(self.others.cores()))
        self.found.save(is_whole=is_whole)
        cores = self.found.core_rows()
        print(f"\n{terminal(self.found.rows())}")
        if len(cores) > 1:
            print(f"\n{terminal(cores)}")
        print("", *self.found.notes, sep="\n")
        if is_whole:
            page.write()

    def reporter(self, broker: str) -> Report:
        """What notes and shows a sample of one side."""

        def report(name: str, value: float) -> None:
            measure = self.measure_of(name)
            self.found.add(broker, name, measure, value)
            elapsed = time.monotonic() - self.began
            print(f"{elapsed:6.0f} s  {broker:9}  {name}: {value:.2f} {measure.unit}", flush=True)

        return report


def disturbance(cores: float) -> str:
    """How much the rest of the machine did meanwhile, and whether that was too much."""
    note = f"Other programs used {cores:.2f} of the cores on average while this was measured."
    return note if cores < QUIET_CORES else f"{note} That is too much: measure again in peace."
