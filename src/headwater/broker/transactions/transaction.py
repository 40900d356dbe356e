r"""One transactional id as data, and the steps it can take; time is an argument and nothing is stored here.

    Empty -> Ongoing -> PrepareCommit -> CompleteCommit -> Ongoing ...
                  \---> PrepareAbort --> CompleteAbort --> Ongoing ...

Prepare decides the outcome; what follows only carries it out. Since transaction version 2 (KIP-890) every
step into a Prepare state takes the next epoch, so that nothing sent before it can touch what comes after.
"""

import enum
from collections.abc import Iterable
from typing import Final, NamedTuple

from headwater.broker.groups.records import TopicPartition
from headwater.wire.record_batch import NO_EPOCH, NO_PRODUCER, ProducerIdAndEpoch

LARGEST_EPOCH: Final = 2**15 - 1
LAST_USED_EPOCH: Final = LARGEST_EPOCH - 1
"""No client gets the largest one: it is kept for fencing the client that has this."""
BUMPS_EPOCHS: Final = 2
"""The transaction version from which each transaction has an epoch of its own."""
NOT_STARTED: Final = -1


class TransactionState(enum.Enum):
    """Kafka's states, by Kafka's names and numbers."""

    EMPTY = (0, "Empty")
    ONGOING = (1, "Ongoing")
    PREPARE_COMMIT = (2, "PrepareCommit")
    PREPARE_ABORT = (3, "PrepareAbort")
    COMPLETE_COMMIT = (4, "CompleteCommit")
    COMPLETE_ABORT = (5, "CompleteAbort")

    def __init__(self, number: int, shown: str) -> None:
        self.number = number
        self.shown = shown

    @property
    def is_prepared(self) -> bool:
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)


class Transaction(NamedTuple):
    """The present transaction of a transactional id, or its last one."""

    transactional_id: str
    producer: ProducerIdAndEpoch
    timeout_ms: int = 0
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    started_at_ms: int = NOT_STARTED
    updated_at_ms: int = -1
    previous_producer_id: int = NO_PRODUCER
    """The id before the epochs of this one began; a client may still know it."""
    next_producer_id: int = NO_PRODUCER
    """The id that follows once the transaction is complete, because the epochs are used up."""
    last_epoch: int = NO_EPOCH
    """The epoch before; a client that asks with it asks again."""
    version: int = 0
    """The transaction version that the client spoke at the last step."""

    @property
    def is_new(self) -> bool:
        return self.producer.epoch == NO_EPOCH

    @property
    def is_epoch_exhausted(self) -> bool:
        return self.producer.epoch >= LAST_USED_EPOCH

    @property
    def is_commit(self) -> bool:
        """Whether it was or will be committed, once that is decided."""
        return self.state in (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)

    def with_epoch(
        self, epoch: int, last_epoch: int, timeout_ms: int, now_ms: int
    ) -> "Transaction":
        """Be ready for the first transaction of an epoch."""
        return self._replace(
            producer=self.producer._replace(epoch=epoch),
            last_epoch=last_epoch,
            state=TransactionState.EMPTY,
            timeout_ms=timeout_ms,
            partitions=frozenset(),
            started_at_ms=NOT_STARTED,
            updated_at_ms=now_ms,
            previous_producer_id=self.producer.id,
        )

    def with_producer_id(
        self, producer_id: int, last_epoch: int, timeout_ms: int, now_ms: int
    ) -> "Transaction":
        """Be ready for the first transaction of a new producer id."""
        rotated = self.with_epoch(0, last_epoch, timeout_ms, now_ms)
        return rotated._replace(producer=ProducerIdAndEpoch(producer_id, 0))

    def with_partitions(
        self, added: Iterable[TopicPartition], version: int, now_ms: int
    ) -> "Transaction":
        """Take part in more partitions; the first begin the transaction."""
        is_ongoing = self.state is TransactionState.ONGOING
        return self._replace(
            state=TransactionState.ONGOING,
            partitions=self.partitions.union(added),
            started_at_ms=self.started_at_ms if is_ongoing else now_ms,
            updated_at_ms=now_ms,
            previous_producer_id=self.producer.id,
            version=version,
        )

    def prepared(
        self, *, is_commit: bool, version: int, next_producer_id: int, now_ms: int
    ) -> "Transaction":
        """Decide the outcome; since version 2, in the next epoch."""
        is_ongoing = self.state is TransactionState.ONGOING
        epoch, last_epoch = self.producer.epoch, self.last_epoch
        if version >= BUMPS_EPOCHS:
            epoch, last_epoch = min(epoch + 1, LARGEST_EPOCH), epoch
        return self._replace(
            state=(
                TransactionState.PREPARE_COMMIT if is_commit else TransactionState.PREPARE_ABORT
            ),
            producer=self.producer._replace(epoch=epoch),
            last_epoch=last_epoch,
            started_at_ms=self.started_at_ms if is_ongoing else now_ms,
            updated_at_ms=now_ms,
            previous_producer_id=self.producer.id,
            next_producer_id=next_producer_id,
            version=version,
        )

    def completed(self, now_ms: int) -> "Transaction":
        """Every partition has its marker; a client whose epochs are used up goes on with a new id."""
        producer = self.producer
        if self.version >= BUMPS_EPOCHS and self.next_producer_id != NO_PRODUCER:
            producer = ProducerIdAndEpoch(self.next_producer_id, 0)
        return self._replace(
            state=(
                TransactionState.COMPLETE_COMMIT
                if self.is_commit
                else TransactionState.COMPLETE_ABORT
            ),
            producer=producer,
            partitions=frozenset(),
            updated_at_ms=now_ms,
            previous_producer_id=self.producer.id,
            next_producer_id=NO_PRODUCER,
        )
