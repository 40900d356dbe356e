"""A transactional writer, a process of its own: python -m histories.writer '{"name": ..., ...}'.

It appends, or makes `derived` of `lists`, in transactions, until SIGTERM. A library error that an abort
does not heal ends it, as an application would end: whoever started it starts its next incarnation.
"""

import json
import logging
import signal
import sys
import time
from dataclasses import dataclass
from random import Random
from typing import Final

from histories.history import Append, Outcome, Partition, Transaction
from histories.inputs import Inputs, place
from histories.journal import Journal
from histories.producers import TransactionalProducer, new_producer
from histories.topics import DERIVED, LISTS
from rigs.process import describes_itself

LIBRARY_ERROR: Final = 3
"""The exit status of a writer whose library gave up."""

ABORTED_SHARE: Final = 0.15
SLOW_SHARE: Final = 0.1
LARGE_SHARE: Final = 0.02
LARGE: Final = 300


@dataclass(frozen=True)
class Order:
    """What a writer is to do: with a group it derives, else it appends. `name` is its transactional id."""

    name: str
    library: str
    bootstrap: str
    incarnation: int
    seed: int
    timeout_ms: int
    group: str | None = None

    @property
    def writer(self) -> str:
        return f"{self.name}.{self.incarnation}"


class Writer:
    def __init__(self, order: Order, producer: TransactionalProducer) -> None:
        self.order = order
        self.producer = producer
        self.journal = Journal()
        self.random = Random(f"{order.seed} {order.writer}")
        self.inputs: Inputs | None = None
        self.count = 0
        self.is_stopping = False
        signal.signal(signal.SIGTERM, self._stop)

    def run(self) -> None:
        self.producer.start()
        # Only now: an earlier incarnation may have moved the group until it was fenced.
        self.inputs = Inputs(self.order.bootstrap, self.order.group) if self.order.group else None
        self.journal.ready()
        while not self.is_stopping:
            if plan := self._derive(self.inputs) if self.inputs else self._append():
                self.count += 1
                is_committed = self._perform(plan)
                if self.inputs and not is_committed:
                    self.inputs.rewind()

    def _append(self) -> Transaction:
        places = self.random.sample(LISTS, self.random.randint(1, len(LISTS)))
        is_large = self.random.random() < LARGE_SHARE
        count = LARGE if is_large else self.random.randint(len(places), 12)
        return self._plan([(self.random.choice(places), None) for _ in range(count)])

    def _derive(self, inputs: Inputs) -> Transaction | None:
        taken = inputs.take(self.random.randint(1, 60))
        made = [(DERIVED[each.partition() % len(DERIVED)], each.value().decode()) for each in taken]
        offsets = {place(each): each.offset() + 1 for each in taken}
        return self._plan(made, inputs.group, offsets) if taken else None

    def _plan(
        self,
        values: list[tuple[Partition, str | None]],
        group: str | None = None,
        offsets: dict[Partition, int] | None = None,
    ) -> Transaction:
        name = f"{self.order.writer}.{self.count}"
        return Transaction(
            id=name,
            writer=self.order.writer,
            outcome=Outcome.ABORTED,
            appends=tuple(
                Append(partition, f"{name}.{index}", source)
                for index, (partition, source) in enumerate(values)
            ),
            group=group,
            offsets=tuple((offsets or {}).items()),
        )

    def _perform(self, plan: Transaction) -> bool:
        """Try it; whether it was committed. After an error of its commit, who knows: let it crash."""
        self.journal.planned(plan)
        try:
            self._send(plan)
            is_to_abort = self.random.random() < ABORTED_SHARE
        except self.producer.errors as error:
            if not self.producer.can_abort(error):
                raise
            is_to_abort = True
        if is_to_abort:
            self.producer.abort()
            self.journal.ended(Outcome.ABORTED)
            return False
        self.journal.commit_asked()
        self.producer.commit()
        self.journal.ended(Outcome.COMMITTED)
        return True

    def _send(self, plan: Transaction) -> None:
        self.producer.begin()
        for each in plan.appends:
            self.producer.append(each.partition, each.value)
        if self.inputs and plan.group is not None:
            self.producer.send_offsets(self.inputs.consumer, plan.group, dict(plan.offsets))
        if self.random.random() < SLOW_SHARE:
            time.sleep(self.random.random() / 5)  # Some transactions stay open for a while.

    def _stop(self, *_: object) -> None:
        self.is_stopping = True


def main() -> int:
    logging.disable(logging.CRITICAL)  # Libraries write much about a broker that is down.
    order = Order(**json.loads(sys.argv[1]))
    host, port = order.bootstrap.rsplit(":", 1)
    while not describes_itself(host, int(port)):
        time.sleep(0.05)  # The broker may be down, and nothing tells when it is back.
    producer = new_producer(order.library, order.bootstrap, order.name, order.timeout_ms)
    try:
        Writer(order, producer).run()
    except producer.errors as error:
        sys.stderr.write(f"{order.writer}: {error!r}\n")
        return LIBRARY_ERROR
    return 0


if __name__ == "__main__":
    sys.exit(main())
