"""A list-append workload of transactions under fire, and the history of it.

Writers of several client libraries append to several partitions in each transaction, others make something
of that and commit their offsets with it; some transactions are aborted on purpose. Meanwhile writers and
the broker are killed at random moments.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final

from confluent_kafka.admin import AdminClient, NewTopic

from histories.crew import Crew
from histories.history import Append, History, Isolation, Outcome, Transaction
from histories.observer import Observer, ends
from histories.producers import new_producer
from histories.readers import READERS, LiveReader, final_reading
from histories.topics import ALL, DERIVED, LISTS
from histories.writer import Order
from rigs.brokers import Broker

LAST_WRITER: Final = "last"
TIMEOUT_MS: Final = 30_000
LONGEST_PAUSE_S: Final = 6
"""Above the transaction timeout of some writers: their transactions are aborted while they sleep."""


class Workload:
    """Runs in `running()`; `disturb()` does some harm; `history()` is what came of it."""

    def __init__(self, broker: Broker, orders: list[Order], random: Random, errors: Path) -> None:
        self.broker = broker
        self.random = random
        self.crew = Crew(orders, errors)
        self.deeds: Counter[str] = Counter()
        groups = sorted({each.group for each in orders if each.group})
        self._observer = Observer(broker.bootstrap, groups)
        self._readers = [LiveReader(broker.bootstrap, each) for each in Isolation]
        self._pauses: list[threading.Timer] = []
        self._harm: dict[str, tuple[int, Callable[[], None]]] = {
            "writers killed": (5, lambda: self.crew.kill(self._any_writer())),
            "writers usurped": (1, lambda: self.crew.usurp(self._any_writer())),
            "writers paused": (1, self._pause_a_writer),
            "broker killed": (2, self.kill_the_broker),
        }

    @contextmanager
    def running(self) -> Iterator[None]:
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap, "log_level": 0})
        topics = [NewTopic(each[0][0], len(each), 1) for each in (LISTS, DERIVED)]
        for created in admin.create_topics(topics).values():
            created.result()
        for each in (*self._readers, self._observer, self.crew):
            each.start()
        try:
            yield
            for each in self._pauses:
                each.join()
            self.crew.finish()
        finally:
            self.crew.kill_all()

    def disturb(self) -> None:
        """Do one random harm."""
        names = list(self._harm)
        weights = [weight for weight, _ in self._harm.values()]
        name = self.random.choices(names, weights)[0]
        self.deeds[name] += 1
        self._harm[name][1]()

    def kill_the_broker(self) -> None:
        self.broker.kill()
        self.broker.restart()

    def _pause_a_writer(self) -> None:
        resume = self.crew.pause(self._any_writer())
        self._pauses.append(threading.Timer(self.random.random() * LONGEST_PAUSE_S, resume))
        self._pauses[-1].start()

    def _any_writer(self) -> str:
        return self.random.choice(sorted(self.crew.orders))

    def history(self) -> History:
        """What was written and read, with a last look at everything. The writers have ended."""
        last = self._end_every_transaction()
        last_values = {each.value for each in last.appends}
        stable = ends(self.broker.bootstrap)
        committed, uncommitted = Isolation.READ_COMMITTED, Isolation.READ_UNCOMMITTED
        readings = [each.finish(last_values) for each in self._readers]
        for library, isolation in (
            *((each, committed) for each in READERS),
            ("confluent", uncommitted),
        ):
            asked = (library, self.broker.bootstrap, isolation, last_values)
            readings.append(final_reading(*asked))
        return History(
            transactions=(*self.crew.transactions(), last),
            readings=tuple(readings),
            positions=self._observer.finish(),
            ends=stable,
        )

    def _end_every_transaction(self) -> Transaction:
        """Abort what killed writers left open, then write the last value of each partition."""
        for name in self.crew.orders:
            new_producer("confluent", self.broker.bootstrap, name, TIMEOUT_MS).start()
        producer = new_producer("confluent", self.broker.bootstrap, LAST_WRITER, TIMEOUT_MS)
        producer.start()
        producer.begin()
        appends = [Append(each, f"{LAST_WRITER}.{each[0]}.{each[1]}") for each in ALL]
        for append in appends:
            producer.append(append.partition, append.value)
        asked_at = time.monotonic()
        producer.commit()
        return Transaction(
            id=LAST_WRITER,
            writer=LAST_WRITER,
            outcome=Outcome.COMMITTED,
            appends=tuple(appends),
            commit_asked_at=asked_at,
        )
