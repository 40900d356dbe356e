"""Column types: what fits, what does not, and that canonical text sorts as the values do."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import InvalidRequest
from headwater.views import parse_type

MOMENTS = st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("name", "value", "canonical"),
    [
        ("boolean", "true", True),
        ("boolean", False, False),
        ("bigint", "7", 7),
        ("int", 7.0, 7),
        ("double", "12.5", 12.5),
        ("double", float("nan"), "NaN"),
        ("float", float("-inf"), "-Infinity"),
        ("decimal(10,2)", "12.5", "12.50"),
        ("decimal(38,0)", 10**37, str(10**37)),
        ("decimal(10,2)", Decimal("1E+3"), "1000.00"),
        ("decimal(9,0)", 1.0, "1"),
        ("decimal(10,2)", "12.5000", "12.50"),
        ("decimal(10,2)", "-0", "0.00"),
        ("binary", "YR==", "YQ=="),
        ("bigint", Decimal("7.0"), 7),
        ("decimal(5,-2)", 150, "150"),
        ("decimal(5,-2)", "150.0", "150"),
        ("decimal(5,-2)", "1e4", "10000"),
        ("decimal(10,2)", "1.005", "1.005"),  # finer than the column: kept, never rounded
        ("string", "x", "x"),
        ("binary", b"\x00\xff", "AP8="),
        ("date", date(2026, 9, 1), "2026-09-01"),
        ("timestamp", "2026-09-01T10:00Z", "2026-09-01T10:00:00.000000Z"),
        ("timestamp", "2026-09-01T12:00:00.5+02:00", "2026-09-01T10:00:00.500000Z"),
        ("timestamp", "2026-09-01", "2026-09-01T00:00:00.000000Z"),
        ("timestamp_ntz", "2026-09-01T10:00", "2026-09-01T10:00:00.000000"),
        ("array<int>", [1, 2], [1, 2]),
        ("bigint", None, None),
    ],
)
def test_values_become_canonical_and_stay_so(name: str, value: Any, canonical: Any) -> None:
    of = parse_type(name)
    assert of.canonical(value) == canonical
    assert of.canonical(of.canonical(value)) == canonical


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("boolean", "yes"),
        ("boolean", 2),
        ("tinyint", 128),
        ("bigint", 2**63),
        ("bigint", 1.5),
        ("bigint", True),
        ("bigint", "1e3"),
        ("bigint", "1_0"),  # to Python it is ten: the row of another customer
        ("bigint", " 7"),
        ("bigint", "+7"),
        ("bigint", "\u0667"),
        ("double", "1_0"),
        ("decimal(10,2)", "1_0"),
        ("decimal(10,2)", "\u0667"),
        ("double", "many"),
        ("decimal(10,2)", "NaN"),
        ("decimal(10,2)", "1e-999999999"),  # written out it would be a gigabyte
        ("decimal(38,2)", "1e999999999"),
        ("decimal(38,2)", "1e9999999999999999999999"),
        ("bigint", Decimal("1.5")),
        ("bigint", Decimal("1e999999999")),
        ("string", 7),
        ("binary", "not base64!"),
        ("date", "yesterday"),
        ("date", "2026-13-01"),
        ("timestamp", 7),
        ("timestamp_ntz", "2026-09-01T10:00Z"),
    ],
)
def test_what_does_not_fit_is_one_sentence_with_an_example(name: str, value: Any) -> None:
    with pytest.raises(InvalidRequest, match=r"is not a .* \(hint: write it as"):
        parse_type(name).canonical(value)


@given(MOMENTS, MOMENTS, st.integers(-14, 14))
def test_timestamps_sort_as_moments_whatever_their_zone(
    one: datetime, other: datetime, hours: int
) -> None:
    of = parse_type("timestamp")
    first, second = one.replace(tzinfo=UTC), other.replace(tzinfo=timezone(timedelta(hours=hours)))
    texts = of.canonical(first), of.canonical(second)
    assert (texts[0] < texts[1]) == (first < second)
    assert of.python(texts[1]) == second


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4))
def test_decimals_keep_every_digit(number: Decimal) -> None:
    of = parse_type("decimal(38,4)")
    assert of.python(of.canonical(number)) == number


@pytest.mark.parametrize("name", ["text", "", "decimal", "varchar(10)", "array", "struct<"])
def test_an_unknown_type_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match="is not a type of a view's column"):
        parse_type(name)


@pytest.mark.parametrize(
    "text", ["1e9999999", "1e-9999999", "1e9999999999999999999999", "-1e-1000001"]
)
@pytest.mark.parametrize("name", ["decimal(10,2)", "decimal(38,10)", "bigint"])
def test_a_number_beyond_all_bounds_in_a_record_does_not_fit(name: str, text: str) -> None:
    with pytest.raises(InvalidRequest, match="is not a"):
        parse_type(name).read(text)


@pytest.mark.parametrize("name", ["timestamp", "timestamp_ntz"])
@pytest.mark.parametrize("digits", ["0000001", "123456789", "9999990001"])
def test_a_moment_finer_than_a_microsecond_does_not_become_another_one(
    name: str, digits: str
) -> None:
    with pytest.raises(InvalidRequest, match=f"is not a {name}"):
        parse_type(name).canonical(f"2026-09-01T10:00:00.{digits}")
    zeros = parse_type(name).canonical("2026-09-01T10:00:00.123456000")
    assert zeros.startswith("2026-09-01T10:00:00.123456")
