"""Python objects as parameters of SQL mean there what they mean in Python."""

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from headwater.client import Client
from headwater.errors import InvalidRequest
from rigs.changelog import Changelog, new_name
from serve.conftest import Changelogs

COLUMNS = {
    "id": "bigint",
    "cents": "decimal(9,2)",
    "price": "decimal(20,4)",
    "at": "timestamp",
    "local": "timestamp_ntz",
    "day": "date",
    "raw": "binary",
    "paid": "boolean",
}
ROW = {
    "id": 7,
    "cents": Decimal("12.50"),
    "price": Decimal("1234567890123456.7800"),
    "at": datetime(2026, 9, 1, 10, tzinfo=UTC),
    "local": datetime(2026, 9, 1, 10),  # noqa: DTZ001  of a column without a zone
    "day": date(2026, 9, 1),
    "raw": b"\x00\xff",
    "paid": True,
}


@pytest.fixture
def sales(new_changelog: Changelogs) -> Changelog:
    changelog = new_changelog(
        name=new_name("sales").replace("-", "_"), columns=COLUMNS, key=("id",)
    )
    changelog.put(ROW)
    changelog.wait_until_served()
    return changelog


@pytest.mark.parametrize("column", COLUMNS)
def test_the_value_of_a_column_equals_itself_as_a_parameter(
    client: Client, sales: Changelog, column: str
) -> None:
    condition = f"{column} = ? AND {column} <= ? AND NOT {column} > ?"
    table = client.views.query(
        f"SELECT count(*) FROM {sales.view.name} WHERE {condition}", *[ROW[column]] * 3
    )
    assert table.rows == ((1,),)


@pytest.mark.parametrize(
    ("expression", "parameter"),
    [
        ("sum(cents) > ?", Decimal("9.5")),
        ("sum(cents) > ?", Decimal("100E-1")),
        ("sum(price) > ?", Decimal(-1)),
        ("max(id) * 2 > ?", Decimal("13.5")),
        ("max(price) COLLATE decimal = ?", Decimal("1234567890123456.78")),
        ("max(price) COLLATE decimal > ?", Decimal("1234567890123456.77")),
        ("max(price) COLLATE decimal < ?", Decimal("1E+400")),
    ],
)
def test_a_decimal_is_compared_as_a_number_behind_a_function_too(
    client: Client, sales: Changelog, expression: str, parameter: Decimal
) -> None:
    having = f"SELECT id FROM {sales.view.name} GROUP BY id HAVING {expression}"
    assert client.views.query(having, parameter).rows == ((7,),)


@pytest.mark.parametrize(
    "value", [[1], {"a": 1}, time(10), math.nan, math.inf, Decimal("NaN"), object()]
)
def test_what_no_column_holds_is_refused_in_one_sentence(client: Client, value: Any) -> None:
    with pytest.raises(InvalidRequest, match="cannot be a parameter of a query"):
        client.views.query("SELECT ?", value)
