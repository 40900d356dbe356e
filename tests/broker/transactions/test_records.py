"""`__transaction_state` as bytes: what is written is read back, and it is what Kafka writes."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.broker.groups.records import TopicPartition
from headwater.broker.transactions.records import decode_transaction, encode_transaction
from headwater.broker.transactions.transaction import Transaction, TransactionState
from headwater.errors import Corruption
from headwater.wire.record_batch import ProducerIdAndEpoch

EPOCHS = st.integers(-1, 2**15 - 1)
IDS = st.integers(-1, 2**63 - 1)
TIMES = st.integers(-1, 2**62)
PARTITIONS = st.frozensets(
    st.builds(TopicPartition, st.sampled_from(["a", "b", "__consumer_offsets"]), st.integers(0, 9))
)


@given(
    st.builds(
        Transaction,
        transactional_id=st.text(max_size=20),
        producer=st.builds(ProducerIdAndEpoch, IDS, EPOCHS),
        timeout_ms=st.integers(0, 2**31 - 1),
        state=st.sampled_from([each for each in TransactionState if each.number]),
        partitions=PARTITIONS,
        started_at_ms=TIMES,
        updated_at_ms=TIMES,
        previous_producer_id=IDS,
        next_producer_id=IDS,
        last_epoch=EPOCHS,
        version=st.integers(0, 2),
    )
)
def test_what_is_written_is_read_back(transaction: Transaction) -> None:
    key, value = encode_transaction(transaction.transactional_id, transaction)

    assert decode_transaction(key, value) == (transaction.transactional_id, transaction)


def test_forgotten_id_has_no_value() -> None:
    key, value = encode_transaction("x", None)

    assert value is None
    assert decode_transaction(key, None) == ("x", None)


def test_bytes_are_kafkas() -> None:
    """Version 0 of the value, without tags, as a Kafka before KIP-890 has written it."""
    key = struct.pack(">hh1s", 0, 1, b"x")
    partitions = struct.pack(">i", 1) + struct.pack(">h1s", 1, b"t") + struct.pack(">iii", 2, 3, 5)
    value = struct.pack(">hqhib", 0, 7, 2, 60_000, 1) + partitions + struct.pack(">qq", 20, 10)

    _, found = decode_transaction(key, value)

    assert found == Transaction(
        "x",
        ProducerIdAndEpoch(7, 2),
        timeout_ms=60_000,
        state=TransactionState.ONGOING,
        partitions=frozenset({TopicPartition("t", 3), TopicPartition("t", 5)}),
        started_at_ms=10,
        updated_at_ms=20,
    )


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\x01\0\0", b"\0\x09", b"\0\0\0\0\0\0\0\0"])
def test_other_bytes_are_corruption(data: bytes) -> None:
    key, _ = encode_transaction("x", None)

    with pytest.raises(Corruption):
        decode_transaction(key, data)
    with pytest.raises(Corruption):
        decode_transaction(b"\0\x07", None)
