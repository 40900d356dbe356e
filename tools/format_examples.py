"""Write the worked examples in docs/formats/: bytes that the code itself produces, with their meaning.

Run it after changing a format:  .venv/bin/python tools/format_examples.py
"""

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from headwater.broker.data_directory import CLEAN_MAGIC, META_MAGIC
from headwater.broker.groups.records import CommittedOffset, TopicPartition, encode_offset
from headwater.broker.transactions.records import encode_transaction
from headwater.broker.transactions.transaction import Transaction, TransactionState
from headwater.log import checksummed
from headwater.log.aborted import AbortedIndex, AbortedTransaction
from headwater.log.index import Index
from headwater.log.producers import Producers
from headwater.log.state import RECOVERY_POINT_MAGIC, PartitionState
from headwater.wire.markers import EndedRecords, EndMarker, encode_marker
from headwater.wire.record_batch import ProducerIdAndEpoch, read_header, stamped_head
from headwater.wire.records import encode_batch

DOCS = Path(__file__).parent.parent / "docs/formats"
FRAME = [(4, "magic"), (1, "version"), (4, "length")]
HEADER = [
    (8, "base_offset"),
    (4, "length"),
    (4, "leader_epoch"),
    (1, "magic"),
    (4, "crc"),
    (2, "attributes"),
    (4, "last_offset_delta"),
    (8, "base_timestamp"),
    (8, "max_timestamp"),
    (8, "producer_id"),
    (2, "producer_epoch"),
    (4, "base_sequence"),
    (4, "record_count"),
]
_BLOCK = re.compile(r"<!-- example: (?P<name>[\w-]+) -->\n.*?<!-- end -->", re.DOTALL)


def main() -> int:
    for page, text in rendered().items():
        (DOCS / page).write_text(text)
    return 0


def rendered() -> dict[str, str]:
    """Return each page with its examples filled in."""
    return {page.name: _fill(page.read_text()) for page in sorted(DOCS.glob("*.md"))}


def _fill(text: str) -> str:
    def block(match: re.Match[str]) -> str:
        name = match["name"]
        lines = "\n".join(_annotated(*EXAMPLES[name]()))
        return f"<!-- example: {name} -->\n```\n{lines}\n```\n<!-- end -->"

    return _BLOCK.sub(block, text)


def _annotated(data: bytes, fields: list[tuple[int, str]]) -> Iterator[str]:
    """Yield `position  hex  meaning`, sixteen bytes a line."""
    position = 0
    for size, meaning in fields:
        for start in range(position, position + size, 16):
            end = min(start + 16, position + size)
            shown = data[start:end].hex(" ")
            yield f"{start:04x}  {shown:<47}  {meaning if start == position else ''}".rstrip()
        position += size
    assert position == len(data), (position, len(data))


def _framed(data: bytes, payload: list[tuple[int, str]]) -> tuple[bytes, list[tuple[int, str]]]:
    return data, [*FRAME, *payload, (4, "crc")]


def _segment() -> tuple[bytes, list[tuple[int, str]]]:
    batch = bytes(encode_batch([(b"k1", b"v1"), (b"k1", None)], timestamp_ms=1_700_000_000_000))
    stored = stamped_head(read_header(batch), base_offset=5, leader_epoch=0) + batch[61:]
    first = [
        (1, "record: length 10"),
        (1, "attributes"),
        (1, "timestamp_delta 0"),
        (1, "offset_delta 0"),
        (3, "key: size 2, k1"),
        (3, "value: size 2, v1"),
        (1, "header_count 0"),
    ]
    second = [
        (1, "record: length 8"),
        (1, "attributes"),
        (1, "timestamp_delta 0"),
        (1, "offset_delta 1"),
        (3, "key: size 2, k1"),
        (1, "value: null"),
        (1, "header_count 0"),
    ]
    return stored, [*HEADER, *first, *second]


def _marker() -> tuple[bytes, list[tuple[int, str]]]:
    marker = EndMarker(is_commit=False, coordinator_epoch=3, ended=EndedRecords(40, 44))
    batch = bytes(encode_marker(marker, ProducerIdAndEpoch(7, 1), timestamp_ms=1_700_000_000_000))
    stored = stamped_head(read_header(batch), base_offset=43, leader_epoch=0) + batch[61:]
    record = [
        (2, "record: length 66"),
        (1, "attributes"),
        (1, "timestamp_delta 0"),
        (1, "offset_delta 0"),
        (5, "key: size 4, version 0, type 0 (abort)"),
        (7, "value: size 6, version 0, coordinator_epoch 3"),
        (1, "header_count 2"),
        (13, "header: size 12, first-offset"),
        (9, "size 8, 40"),
        (19, "header: size 18, last-stable-offset"),
        (9, "size 8, 44"),
    ]
    return stored, [*HEADER, *record]


def _txnindex() -> tuple[bytes, list[tuple[int, str]]]:
    index = AbortedIndex()
    index.entries.append(AbortedTransaction(7, 40, 43, 44))
    index.stable_to = 130
    entry = [
        (8, "log_size 9000"),
        (8, "stable_to 130"),
        (8, "producer_id 7"),
        (8, "first_offset 40"),
        (8, "last_offset 43"),
        (8, "last_stable_offset 44"),
    ]
    return _framed(index.encode(log_size=9000), entry)


def _index() -> tuple[bytes, list[tuple[int, str]]]:
    index = Index()
    index.note(0, 0, -1)
    index.note(60, 5000, 1_700_000_000_000)
    data = index.encode(log_size=9000, max_timestamp=1_700_000_000_500, next_offset=130)
    columns = [
        (8, "log_size 9000"),
        (8, "max_timestamp"),
        (8, "next_offset 130"),
        (8, "offsets 0, 60"),
        (8, "positions 0, 5000"),
        (16, "times -1, 1700000000000"),
    ]
    return _framed(data, columns)


def _snapshot() -> tuple[bytes, list[tuple[int, str]]]:
    producers = Producers()
    batch = bytes(encode_batch([(b"k", b"v")] * 10, timestamp_ms=1_700_000_000_000))
    header = read_header(batch)._replace(producer_id=7, producer_epoch=0, base_sequence=0)
    producers.note(header, 100)
    fields = [
        (4, "uncertain_count 0"),
        (8, "producer_id 7"),
        (2, "epoch 0"),
        (8, "last_timestamp"),
        (4, "coordinator_epoch -1"),
        (8, "transaction_start -1"),
        (1, "count 1"),
        (4, "first_sequence 0"),
        (4, "last_sequence 9"),
        (8, "base_offset 100"),
        (8, "last_offset 109"),
    ]
    return _framed(producers.encode(), fields)


def _document(magic: bytes, content: object) -> tuple[bytes, list[tuple[int, str]]]:
    payload = json.dumps(content).encode()
    return _framed(checksummed.wrap(magic, payload), [(len(payload), payload.decode())])


def _partition() -> tuple[bytes, list[tuple[int, str]]]:
    state = PartitionState(topic_id="00112233445566778899aabbccddeeff", log_start_offset=3)
    data = state.encode()
    return _framed(data, [(len(data) - 13, data[9:-4].decode())])


def _recovery_point() -> tuple[bytes, list[tuple[int, str]]]:
    slots = [100, 120, 130]
    data = b"".join(
        checksummed.wrap(RECOVERY_POINT_MAGIC, each.to_bytes(8, "big")).ljust(32, b"\0")
        for each in slots
    )
    fields = []
    for kind, each in zip(("durable", "durable", "latest"), slots, strict=True):
        fields += [(9, f"{kind}: frame"), (8, f"offset {each}"), (4, "crc"), (11, "")]
    return data, fields


def _meta() -> tuple[bytes, list[tuple[int, str]]]:
    return _document(META_MAGIC, {"cluster_id": "JkNYmZqLT0ao8iPx8gOB1Q"})


def _clean_shutdown() -> tuple[bytes, list[tuple[int, str]]]:
    summary = [0, 130, 0, [[100, 9000, 130, 1_700_000_000_500]]]
    return _document(CLEAN_MAGIC, {"orders-0": summary})


def _offset_record() -> tuple[bytes, list[tuple[int, str]]]:
    committed = CommittedOffset(offset=42, committed_at_ms=1_700_000_000_000)
    key, value = encode_offset("billing", TopicPartition("orders", 3), committed)
    assert value is not None
    fields = [
        (2, "key: version 1"),
        (9, "group: size 7, billing"),
        (8, "topic: size 6, orders"),
        (4, "partition 3"),
        (2, "value: version 3"),
        (8, "offset 42"),
        (4, "leader_epoch -1"),
        (2, "metadata: size 0"),
        (8, "commit_timestamp"),
    ]
    return key + value, fields


def _transaction_record() -> tuple[bytes, list[tuple[int, str]]]:
    transaction = Transaction(
        "app",
        ProducerIdAndEpoch(7, 1),
        timeout_ms=60_000,
        state=TransactionState.PREPARE_COMMIT,
        partitions=frozenset({TopicPartition("orders", 3)}),
        started_at_ms=1_700_000_000_000,
        updated_at_ms=1_700_000_000_500,
        previous_producer_id=7,
        last_epoch=0,
        version=2,
    )
    key, value = encode_transaction("app", transaction)
    assert value is not None
    fields = [
        (2, "key: version 0"),
        (5, "transactional_id: size 3, app"),
        (2, "value: version 1"),
        (8, "producer_id 7"),
        (2, "producer_epoch 1"),
        (4, "transaction_timeout_ms 60000"),
        (1, "transaction_status 2 (PrepareCommit)"),
        (1, "transaction_partitions: 1"),
        (7, "topic: size 6, orders"),
        (1, "partition_ids: 1"),
        (4, "partition 3"),
        (1, "no tags"),
        (8, "transaction_last_update_timestamp_ms"),
        (8, "transaction_start_timestamp_ms"),
        (1, "3 tags"),
        (10, "tag 0: size 8, previous_producer_id 7"),
        (4, "tag 2: size 2, client_transaction_version 2"),
        (4, "tag 100: size 2, last_producer_epoch 0"),
    ]
    return key + value, fields


EXAMPLES: dict[str, Callable[[], tuple[bytes, list[tuple[int, str]]]]] = {
    "segment": _segment,
    "marker": _marker,
    "txnindex": _txnindex,
    "index": _index,
    "snapshot": _snapshot,
    "partition": _partition,
    "recovery-point": _recovery_point,
    "meta": _meta,
    "clean-shutdown": _clean_shutdown,
    "offset-record": _offset_record,
    "transaction-record": _transaction_record,
}

if __name__ == "__main__":
    sys.exit(main())
