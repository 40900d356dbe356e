"""Bulk decoding against the decoder of single records, over everything that a batch may be."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bulk.logs import (
    BATCHES,
    PARTITION,
    TOPIC,
    Log,
    Written,
    WrittenBatch,
    aborted,
    expected_rows,
    log_of,
    rows_of,
)
from headwater.bulk import columns
from headwater.bulk import decode as decode_module
from headwater.bulk.batches import Batches
from headwater.bulk.decode import decode
from headwater.bulk.ranges import OffsetRange
from headwater.errors import Corruption
from headwater.wire.compression import NAMES
from headwater.wire.record_batch import TRANSACTIONAL

EVERYTHING = OffsetRange(TOPIC, PARTITION, 0, 2**62)


def decoded(data: bytes, wanted: OffsetRange = EVERYTHING, transactions=(), **options):
    return list(decode(Batches.of(memoryview(data), transactions), wanted, **options))


def record(value: bytes | None, key: bytes | None = None) -> Written:
    return Written(0, 0, key, value, ())


@given(
    batches=st.lists(BATCHES, max_size=6),
    first_offset=st.integers(0, 2**40),
    cut=st.tuples(st.integers(0, 60), st.integers(0, 60)),
    with_headers=st.booleans(),
)
@settings(deadline=None)
def test_bulk_decoding_reads_what_single_decoding_reads(
    batches, first_offset, cut, with_headers
) -> None:
    log = log_of(batches, first_offset)
    wanted = OffsetRange(
        TOPIC, PARTITION, first_offset + cut[0], max(first_offset, log.next_offset - cut[1])
    )
    rows = rows_of(decoded(bytes(log.data), wanted, with_headers=with_headers))
    expected = expected_rows(bytes(log.data), wanted)
    if not with_headers:
        for each in expected:
            del each["headers"]
    assert rows == expected


@given(codec=st.sampled_from(list(NAMES)), sizes=st.lists(st.integers(0, 70_000), max_size=6))
@settings(deadline=None)
def test_lengths_of_one_two_and_three_bytes(codec: int, sizes: list[int]) -> None:
    log = log_of([WrittenBatch([record(bytes(size), b"k") for size in sizes], codec)])
    assert rows_of(decoded(log.data, with_headers=True)) == expected_rows(log.data, EVERYTHING)


def test_the_columns_do_not_depend_on_what_is_in_them() -> None:
    log = log_of([WrittenBatch([record(None)])])
    for with_headers, schema in ((False, columns.WITHOUT_HEADERS), (True, columns.WITH_HEADERS)):
        (batch,) = decoded(log.data, with_headers=with_headers)
        batch.validate(full=True)
        assert batch.schema == schema


def test_nothing_comes_from_an_empty_answer() -> None:
    assert decoded(b"") == []


def test_a_batch_cut_short_by_the_broker_is_left_out() -> None:
    log = log_of([WrittenBatch([record(b"a")]), WrittenBatch([record(b"b")])])
    (batch,) = decoded(log.data[:-1])
    assert batch["value"].to_pylist() == [b"a"]


def test_well_compressed_batches_are_decoded_in_several_steps(monkeypatch) -> None:
    monkeypatch.setattr(decode_module, "GROUP_BYTES", 10_000)
    log = log_of([WrittenBatch([record(bytes(6000))], codec=4) for _ in range(5)])
    found = decoded(log.data)
    assert [each.num_rows for each in found] == [2, 2, 1]
    assert [row for each in found for row in each["offset"].to_pylist()] == list(range(5))


def test_plain_batches_among_compressed_ones_keep_their_order() -> None:
    codecs = [0, 0, 4, 0, 1, 0, 0]
    log = log_of([WrittenBatch([record(b"%d" % at)], codec) for at, codec in enumerate(codecs)])
    values = [value for each in decoded(log.data) for value in each["value"].to_pylist()]
    assert values == [b"%d" % at for at in range(len(codecs))]


class TestTransactions:
    def test_aborted_records_and_markers_are_left_out(self) -> None:
        log = Log()
        log.append(transaction(1, b"aborted"))
        log.append(transaction(2, b"committed"))
        log.append(WrittenBatch([record(b"plain")]))
        log.append_marker(1, is_commit=False)
        log.append_marker(2, is_commit=True)
        assert values_of(log, aborted(1, 0)) == [b"committed", b"plain"]

    def test_a_producers_next_transaction_is_seen_again(self) -> None:
        log = Log()
        log.append(transaction(1, b"aborted"))
        log.append_marker(1, is_commit=False)
        log.append(transaction(1, b"committed"))
        log.append_marker(1, is_commit=True)
        log.append(transaction(1, b"aborted too"))
        log.append_marker(1, is_commit=False)
        assert values_of(log, aborted(1, 4), aborted(1, 0)) == [b"committed"]

    def test_records_before_the_aborted_transaction_stay(self) -> None:
        log = Log()
        log.append(transaction(1, b"committed"))
        log.append_marker(1, is_commit=True)
        log.append(transaction(1, b"aborted"))
        assert values_of(log, aborted(1, 2)) == [b"committed"]

    def test_plain_records_of_the_same_producer_stay(self) -> None:
        log = Log()
        log.append(WrittenBatch([record(b"plain")], producer_id=1))
        assert values_of(log, aborted(1, 0)) == [b"plain"]

    def test_an_uncommitted_reader_sees_all_but_the_markers(self) -> None:
        log = Log()
        log.append(transaction(1, b"aborted"))
        log.append_marker(1, is_commit=False)
        assert values_of(log) == [b"aborted"]

    @given(
        steps=st.lists(
            st.tuples(st.integers(1, 3), st.sampled_from(["write", "commit", "abort", "plain"])),
            max_size=30,
        )
    )
    @settings(deadline=None)
    def test_any_history_shows_exactly_what_was_committed(self, steps) -> None:
        log = Log()
        open_since: dict[int, int] = {}
        written: dict[int, list[int]] = {}
        hidden: set[int] = set()
        listed = []
        for producer, step in steps:
            if step == "plain":
                log.append(WrittenBatch([record(b"p")]))
            elif step == "write":
                open_since.setdefault(producer, log.next_offset)
                written.setdefault(producer, []).append(log.next_offset)
                log.append(transaction(producer, b"t"))
            elif producer in open_since:
                if step == "abort":
                    hidden.update(written[producer])
                    listed.append(aborted(producer, open_since[producer]))
                del open_since[producer], written[producer]
                log.append_marker(producer, is_commit=step == "commit")
        rows = rows_of(decoded(log.data, transactions=listed, with_headers=True))
        assert rows == expected_rows(log.data, EVERYTHING, hidden)


def transaction(producer_id: int, value: bytes) -> WrittenBatch:
    return WrittenBatch([record(value)], attributes=TRANSACTIONAL, producer_id=producer_id)


def values_of(log: Log, *transactions) -> list[bytes]:
    found = decoded(log.data, transactions=transactions)
    return [value for each in found for value in each["value"].to_pylist()]


class TestDamage:
    def test_a_flipped_bit_is_found_by_the_checksum(self) -> None:
        log = log_of([WrittenBatch([record(b"a")]), WrittenBatch([record(b"value")])])
        log.data[-3] ^= 1
        with pytest.raises(Corruption, match="checksum"):
            decoded(log.data)

    @given(body=st.binary(max_size=80), count=st.integers(0, 2**31 - 1))
    @settings(deadline=None)
    def test_garbage_with_a_good_checksum_is_one_error(self, body, count) -> None:
        data = crafted(body, count)
        try:
            found = decoded(data, with_headers=True)
        except Corruption:
            return
        for each in found:
            each.validate(full=True)
        assert sum(each.num_rows for each in found) == count

    @given(data=st.data(), records=st.lists(BATCHES, min_size=1, max_size=2))
    @settings(deadline=None)
    def test_a_changed_byte_under_a_new_checksum_is_read_alike_or_refused(
        self, data, records
    ) -> None:
        plain = [WrittenBatch(each.records, 0) for each in records if each.records]
        for batch in plain:
            log = log_of([batch])
            body = bytearray(log.data[61:])
            body[data.draw(st.integers(0, len(body) - 1))] ^= 1 << data.draw(st.integers(0, 7))
            changed = crafted(bytes(body), len(batch.records), last_delta=2**20)
            try:
                expected = expected_rows(changed, EVERYTHING)
            except (Corruption, OverflowError):
                expected = None
            try:
                found = rows_of(decoded(changed, with_headers=True))
            except Corruption:
                assert expected is None or not fits(expected)
            else:
                assert found == expected or has_replaced_name(found)

    def test_a_name_that_is_not_utf8_is_replaced_as_java_does(self) -> None:
        body = b"\0\0\0\x01\x01\x02\x02\xff\x01"
        (batch,) = decoded(crafted(bytes([len(body) * 2]) + body, 1), with_headers=True)
        assert batch["headers"].to_pylist() == [[{"key": "\ufffd", "value": None}]]


def crafted(body: bytes, count: int, last_delta: int | None = None) -> bytes:
    """A batch with a good checksum around any bytes."""
    from crc32c import crc32c

    last = count - 1 if last_delta is None else last_delta
    checked = struct.pack(">hiqqqhii", 0, max(last, 0), 0, 0, -1, -1, -1, count) + body
    head = struct.pack(">qiibI", 0, 9 + len(checked), 0, 2, crc32c(checked))
    return head + checked


def has_replaced_name(rows: list[dict]) -> bool:
    names = [header["key"] for row in rows for header in row["headers"] or ()]
    return any("\ufffd" in each for each in names)


def fits(rows: list[dict]) -> bool:
    """Whether Arrow can hold these times."""
    return all(abs(each["timestamp"]) < 2**63 for each in rows)
