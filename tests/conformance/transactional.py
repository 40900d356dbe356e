"""A transactional producer by hand, one request at a time, as clients spoke before and since KIP-890."""

import re
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.batches import CONTROL, TRANSACTIONAL, Batch, Record, batch, decode
from conformance.calls import eventually, fetch
from conformance.raw import Connection, ErrorCode

Place = tuple[str, int]


@dataclass(frozen=True)
class Dialect:
    """Which versions a client speaks: since version 2 of transactions, writing adds the partition."""

    produce: int
    end_txn: int
    offsets: int
    bumps_epochs: bool
    add: int = 3


OLD: Final = Dialect(produce=9, end_txn=3, offsets=3, bumps_epochs=False)
NEWER: Final = Dialect(produce=11, end_txn=4, offsets=4, bumps_epochs=False, add=5)
"""As some clients speak (@platformatic/kafka): an old one, but for the versions of some requests."""
NEW: Final = Dialect(produce=12, end_txn=5, offsets=5, bumps_epochs=True)
FIRST_ADD_FOR_SEVERAL: Final = 4
BUSY: Final = {
    ErrorCode.concurrent_transactions,
    ErrorCode.coordinator_not_available,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.not_coordinator,
    ErrorCode.not_enough_replicas,
}
"""What a client answers with another try: Kafka finishes a transaction after it has said so."""


@dataclass
class Transactional:
    """What a client keeps of itself: its id, its epoch, and a sequence for each partition."""

    connection: Connection
    transactional_id: str
    dialect: Dialect = NEW
    timeout_ms: int = 60_000
    producer_id: int = -1
    epoch: int = -1
    added: set[Place] = field(default_factory=set)
    sequences: dict[Place, int] = field(default_factory=dict)

    # Single requests

    def init(self, version: int = 4, **fields: Any) -> Any:
        return self.connection.request(
            "init_producer_id",
            version,
            transactional_id=self.transactional_id,
            transaction_timeout=self.timeout_ms,
            **fields,
        )

    def add(self, *places: Place, version: int | None = None) -> list[ErrorCode]:
        """AddPartitionsToTxn as clients send it; returns the answer for each place."""
        version = self.dialect.add if version is None else version
        fields = {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
            "topics": _by_topic(places),
        }
        if version >= FIRST_ADD_FOR_SEVERAL:
            transactions = [{"verify_only": False, **fields}]
            response = self.connection.request(
                "add_partitions_to_txn", version, transactions=transactions
            )
            topics = response.results_by_transaction[0].topic_results
        else:
            old_fields = {f"v3_and_below_{name}": each for name, each in fields.items()}
            response = self.connection.request("add_partitions_to_txn", version, **old_fields)
            topics = response.results_by_topic_v3_and_below
        found = {
            (topic.name, each.partition_index): each.partition_error_code
            for topic in topics
            for each in topic.results_by_partition
        }
        return [found[place] for place in places]

    def add_offsets(self, group: str, version: int = 3) -> ErrorCode:
        response = self.connection.request(
            "add_offsets_to_txn",
            version,
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            group_id=group,
        )
        return response.error_code

    def produce(self, topic: str, records: bytes, partition: int = 0, **fields: Any) -> Any:
        version = fields.pop("version", self.dialect.produce)
        fields.setdefault("transactional_id", self.transactional_id)
        data = [{"index": partition, "records": records}]
        response = self.connection.request(
            "produce",
            version,
            acks=-1,
            timeout=10_000,
            topic_data=[{"name": topic, "partition_data": data}],
            **fields,
        )
        return response.responses[0].partition_responses[0]

    def records(self, *values: bytes | Record, sequence: int = 0, **fields: Any) -> bytes:
        defaults = {
            "attributes": TRANSACTIONAL,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
        }
        return batch(*values, base_sequence=sequence, **(defaults | fields))

    def end(self, *, commit: bool, version: int | None = None, **fields: Any) -> Any:
        identity = {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
        }
        return self.connection.request(
            "end_txn",
            self.dialect.end_txn if version is None else version,
            committed=commit,
            **(identity | fields),
        )

    def commit_offset(
        self, group: str, topic: str, offset: int, partition: int = 0, **fields: Any
    ) -> ErrorCode:
        version = fields.pop("version", self.dialect.offsets)
        committed = {
            "partition_index": partition,
            "committed_offset": offset,
            "committed_metadata": fields.pop("metadata", ""),
        }
        identity = {"producer_id": self.producer_id, "producer_epoch": self.epoch}
        response = self.connection.request(
            "txn_offset_commit",
            version,
            transactional_id=self.transactional_id,
            group_id=group,
            topics=[{"name": topic, "partitions": [committed]}],
            **(identity | fields),
        )
        return response.topics[0].partitions[0].error_code

    # A client's life

    def start(self, **fields: Any) -> "Transactional":
        """Become the owner of the id, as soon as the broker lets us."""
        # The first look-up makes Kafka create its topic of transactions.
        self.connection.request(
            "find_coordinator", 4, key_type=1, coordinator_keys=[self.transactional_id]
        )
        response = eventually(lambda: _unless_busy(self.init(**fields)))
        assert response.error_code == ErrorCode.none, response
        self.producer_id, self.epoch = response.producer_id, response.producer_epoch
        self.sequences.clear()
        self.added.clear()
        return self

    def begin_in(self, *places: Place) -> None:
        """Let the transaction take part in these partitions, if the client has to say so."""
        if not self.dialect.bumps_epochs and (missing := set(places) - self.added):
            codes = eventually(lambda: _not_busy(self.add(*missing)))
            assert set(codes) == {ErrorCode.none}
            self.added |= missing

    def send(self, topic: str, *values: bytes | Record, partition: int = 0) -> int:
        """Write in the transaction, and return the offset of the first record."""
        place = (topic, partition)
        self.begin_in(place)
        sequence = self.sequences.get(place, 0)
        records = self.records(*values, sequence=sequence)
        answer = eventually(lambda: _unless_busy(self.produce(topic, records, partition)))
        assert answer.error_code == ErrorCode.none, answer
        self.sequences[place] = sequence + len(values)
        return answer.base_offset

    def send_offset(self, group: str, topic: str, offset: int, partition: int = 0) -> None:
        if not self.dialect.bumps_epochs:
            assert eventually(lambda: _not_busy([self.add_offsets(group)])) == [ErrorCode.none]
        codes = eventually(lambda: _not_busy([self.commit_offset(group, topic, offset, partition)]))
        assert codes == [ErrorCode.none]

    def commit(self) -> None:
        self.finish(commit=True)

    def abort(self) -> None:
        self.finish(commit=False)

    def finish(self, *, commit: bool) -> None:
        """End the transaction and wait until every partition knows."""
        response = eventually(lambda: _unless_busy(self.end(commit=commit)))
        assert response.error_code == ErrorCode.none, response
        self.added.clear()
        if self.dialect.bumps_epochs:
            self.producer_id, self.epoch = response.producer_id, response.producer_epoch
            self.sequences.clear()
        self.await_state("CompleteCommit" if commit else "CompleteAbort")

    def await_state(self, state: str) -> None:
        eventually(lambda: state_of(self.connection, self.transactional_id) == state)


def state_of(connection: Connection, transactional_id: str) -> str:
    pattern = re.escape(transactional_id)
    response = connection.request("list_transactions", 2, transactional_id_pattern=pattern)
    (found,) = response.transaction_states
    return found.transaction_state


def describe(connection: Connection, transactional_id: str) -> Any:
    """What is said of a transactional id; kio cannot read it before its first transaction."""
    response = connection.request("describe_transactions", 0, transactional_ids=[transactional_id])
    (found,) = response.transaction_states
    return found


def committed_fetch(connection: Connection, topic: str, offset: int = 0, **fields: Any) -> Any:
    return fetch(connection, topic, offset, isolation_level=1, **fields)


def committed_values(connection: Connection, topic: str, partition: int = 0) -> list[bytes | None]:
    """Every value that a `read_committed` consumer delivers, up to the last stable offset."""
    values: list[bytes | None] = []
    offset = 0
    while True:
        answer = committed_fetch(connection, topic, offset, partition=partition)
        assert answer.error_code == ErrorCode.none, answer
        batches = decode(answer.records)
        if not batches:
            assert offset >= answer.last_stable_offset, "records below the last stable offset"
            return values
        assert batches[-1].last_offset < answer.last_stable_offset, "an open transaction was served"
        for each in _without_aborted(batches, answer.aborted_transactions):
            values += [record.value for record in each.records if record.offset >= offset]
        offset = batches[-1].last_offset + 1


def _without_aborted(batches: list[Batch], aborted: list[Any]) -> list[Batch]:
    """What Kafka's clients do with an answer: a producer is aborted from a first offset to its marker."""
    due = sorted(aborted, key=lambda each: each.first_offset)
    skipped: set[int] = set()
    kept = []
    for each in batches:
        while due and due[0].first_offset <= each.last_offset:
            skipped.add(due.pop(0).producer_id)
        if each.attributes & CONTROL:
            if each.records[0].key == b"\0\0\0\0":
                skipped.discard(each.producer_id)
        elif not (each.attributes & TRANSACTIONAL and each.producer_id in skipped):
            kept.append(each)
    return kept


def _by_topic(places: tuple[Place, ...]) -> list[dict[str, Any]]:
    topics: dict[str, list[int]] = {}
    for topic, partition in places:
        topics.setdefault(topic, []).append(partition)
    return [{"name": name, "partitions": indexes} for name, indexes in topics.items()]


def _unless_busy(response: Any) -> Any:
    return None if response.error_code in BUSY else response


def _not_busy(codes: list[ErrorCode]) -> list[ErrorCode] | None:
    return None if BUSY.intersection(codes) else codes
