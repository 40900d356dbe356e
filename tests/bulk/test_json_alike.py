"""Values that are alike are read as the rules say, or not at all, however much they look alike."""

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bulk.test_json_values import EVERY_TYPE, FITTING, VALUES, as_text, singly
from headwater.bulk.json_alike import Alike, Read
from headwater.bulk.json_lines import are_lines

SMALL = pa.schema(
    [
        ("id", pa.int64()),
        ("real", pa.float64()),
        ("flag", pa.bool_()),
        ("text", pa.string()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("price", pa.decimal128(10, 2)),
        ("items", pa.list_(pa.struct([("sku", pa.string()), ("count", pa.int32())]))),
        ("place", pa.struct([("x", pa.float64()), ("city", pa.string())])),
    ]
)
PLAIN = (
    b'{"id":1,"real":2.5,"flag":true,"text":"a","at":"2026-09-01T10:00:00Z","price":1.50,'
    b'"items":[{"sku":"s","count":1},{"sku":"t","count":null}],"place":{"x":-1,"city":"y"},"more":7}'
)


def read(schema: pa.Schema, values: list[bytes | None]) -> list[Read]:
    array = pa.array(values, type=pa.binary())
    return Alike(pa.struct(list(schema)), many=1).read(array, are_lines(array))


def check(schema: pa.Schema, values: list[bytes | None]) -> int:
    """Compare what was read with the rules; how many values that is."""
    count = 0
    for positions, columns in read(schema, values):
        expected = [singly(schema, values[at]) for at in positions.tolist()]
        assert None not in expected
        assert as_text(columns) == [as_text(each)[0] for each in expected]
        columns.validate(full=True)
        count += len(positions)
    return count


@st.composite
def edited(draw, values) -> list[bytes]:
    """A value, and others that differ from it in a few bytes."""
    first = draw(values)
    found = [first]
    for _ in range(draw(st.integers(1, 6))):
        value = bytearray(draw(st.sampled_from(found)))
        for _ in range(draw(st.integers(1, 3))):
            at = draw(st.integers(0, len(value)))
            size = draw(st.sampled_from([0, 0, 1, 1, 2, 5]))
            value[at : at + size] = draw(BYTES)
        found.append(bytes(value))
    return found


BYTES = st.sampled_from(
    [
        *(b"", b'"', b"\\", b"{", b"}", b"[", b"]", b":", b",", b" ", b"-", b".", b"e", b"0", b"x"),
        *(
            b"null",
            b"true",
            b'"":',
            b'"a"',
            b",1",
            b'","',
            b'":"',
            b"\xff",
            b"\xc3\xa9",
            b"\n",
            b"\0",
        ),
    ]
)
OBJECTS = st.lists(st.sampled_from(sorted(FITTING)), min_size=1, max_size=5, unique=True).flatmap(
    lambda names: st.tuples(*(FITTING[each] for each in names)).map(
        lambda scalars: (
            "{" + ",".join(f'"{a}":{b}' for a, b in zip(names, scalars, strict=True)) + "}"
        ).encode(errors="replace")
    )
)


@given(values=edited(st.just(PLAIN)))
@settings(deadline=None, max_examples=300)
def test_a_value_that_differs_by_a_few_bytes_is_read_by_the_rules_or_left(values) -> None:
    check(SMALL, values)


@given(values=edited(OBJECTS))
@settings(deadline=None, max_examples=200)
def test_so_is_a_value_of_every_type(values: list[bytes]) -> None:
    check(EVERY_TYPE, values)


@given(values=st.lists(VALUES, max_size=8))
@settings(deadline=None)
@example(values=[b'{"text":"a"}', b'{"text":"a"} {"text":"b"}'])
@example(values=[b'{"whole":1}', b'{"whole":1}{"whole":2}'])
@example(values=[b'{"real":1,"text":"a"}', b'{"real":,"text":"a"}', b'{"real" ,"text":"a"}'])
@example(values=[b'{"real": 1 ,"text":"a"}', b'{"real": ,"text":"a"}'])
@example(values=[b'{"whole":1,"text":"a"}', b'{"whole":1,"text":"a"}}'])
@example(values=[b'{"text":1,"at":2,"whole":3}', b'{"place":4,"tags":5,"day":6}'])
@example(values=[b'{"whole":"x","whole":1}', b'{"text":"x","text":"y"}', b'{"real":x,"real":1}'])
def test_so_is_anything_else(values: list[bytes | None]) -> None:
    check(EVERY_TYPE, values)


NUMBERS = [
    *("0", "-0", "-1", "01", "-01", "1.", ".5", "-.5", "-", "1.0", "-0.0", "0.10", "1e2", "1.2.3"),
    *(
        "1-2",
        "inf",
        "nan",
        "NaN",
        "0x1",
        "+1",
        "null",
        "true",
        "nul",
        "9" * 18,
        "9" * 19,
        "9" * 400,
    ),
    *("1/2", "128", "2147483648", "", " 1", "1 ", "1 2", '"1"', "[1]", "{}", "1,2", '1,"id":2'),
]


KINDS = [*(pa.int64(), pa.int32(), pa.int8(), pa.float64(), pa.float32()), pa.decimal128(20, 2)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_are_read_to_the_letter(kind: pa.DataType, number: str) -> None:
    """Also where nobody asks for them."""
    asked, beside = pa.schema([("a", kind)]), pa.schema([("b", pa.string())])
    for schema in (asked, beside):
        values = [b'{"a":1,"b":"x"}', b'{"a":%s,"b":"x"}' % number.encode()]
        check(schema, values)
        check(schema, [b'{"b":"x","a":%s}' % each.encode() for each in ("1", number)])


@pytest.mark.parametrize(
    "flag", ["true", "false", "null", "tru", "True", "1", '"true"', "truefalse"]
)
def test_flags_are_read_to_the_letter(flag: str) -> None:
    schema = pa.schema([("a", pa.bool_()), ("b", pa.string())])
    check(schema, [b'{"a":true,"b":"x"}', b'{"a":%s,"b":"x"}' % flag.encode()])


def test_values_of_one_structure_stay_in_order_whether_their_text_is_null_or_not() -> None:
    texts = [None if at % 3 == 0 else f"t{at}" for at in range(500)]
    values = [json.dumps({"id": at, "text": text}).encode() for at, text in enumerate(texts)]
    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    (only,) = read(schema, values)
    assert only.positions.tolist() == list(range(500))
    assert only.columns.field("text").to_pylist() == texts


def test_arrays_of_any_size_are_read_together_and_in_order() -> None:
    inner = pa.struct([("n", pa.int64()), ("tags", pa.list_(pa.string()))])
    kind = pa.struct([("id", pa.int64()), ("all", pa.list_(inner)), ("one", inner)])
    values = [
        {
            "id": at,
            "all": [{"n": each, "tags": ["x", None][: at % 3]} for each in range(at % 3)] or None,
            "one": {"n": None, "tags": [f"t{at}"]} if at % 2 else None,
        }
        for at in range(600)
    ]
    array = pa.array([json.dumps(each).encode() for each in values], type=pa.binary())
    alike = Alike(kind)
    for _ in range(4):  # a few shapes are learned at a time
        found = alike.read(array, are_lines(array))
    assert [each.positions.tolist() for each in found] == [list(range(600))]
    assert found[0].columns.to_pylist() == values


def test_an_odd_value_does_not_keep_others_from_being_read() -> None:
    schema = pa.schema([("id", pa.int64()), ("real", pa.float64())])
    values = [b'{"id":%d,"real":1.5}' % at for at in range(100)]
    for odd in (
        b'{"id":1.5,"real":1.5}',
        b'{"id":1,"real":1e5}',
        b'{"id":1,"real":}',
        b'{"id":{}}',
    ):
        values[50] = odd
        assert check(schema, values) == 99


def test_what_is_not_alike_is_left() -> None:
    values = [json.dumps({f"k{at}": at, "id": at}).encode() for at in range(300)]
    array = pa.array(values, type=pa.binary())
    assert Alike(pa.struct([("id", pa.int64())])).read(array, np.ones(300, dtype=np.bool_)) == []


def test_escapes_and_text_that_is_not_utf8_are_left() -> None:
    schema = pa.schema([("text", pa.string())])
    plain, escaped = b'{"text":"abc"}', b'{"text":"a\\nc"}'
    assert [each.positions.tolist() for each in read(schema, [plain, escaped, plain])] == [[0, 2]]
    assert read(schema, [plain, b'{"text":"a\xffc"}']) == []
