"""A view's columns in SQLite: how they are declared, taken from JSON, compared and read back.

| type | in SQLite |
| --- | --- |
| boolean, integers | INTEGER |
| float, double, decimal up to 15 digits | REAL (NaN is the text `NaN`, which sorts behind all numbers) |
| larger decimals | TEXT COLLATE decimal: exact, and sorted as numbers |
| all others | TEXT, nested ones as JSON |
"""

import json
import math
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from headwater.views import Column, ColumnType

REAL_DIGITS: Final = 15
_NOT_FINITE: Final = {"Infinity": math.inf, "-Infinity": -math.inf}


@dataclass(frozen=True, slots=True)
class SqlColumn:
    column: Column
    is_key: bool

    @property
    def name(self) -> str:
        return quoted(self.column.name)

    @property
    def declaration(self) -> str:
        """With a constraint whose name is the sentence for a value that does not fit."""
        of = self.column.type
        not_null = "" if self.column.is_nullable and not self.is_key else " NOT NULL"
        check = _check(of, self.name)
        constraint = quoted(f"{self.column.name} is not a {of.name}".replace('"', ""))
        fits = f" CONSTRAINT {constraint} CHECK ({self.name} IS NULL OR {check})" if check else ""
        return f"{self.name} {_affinity(of)}{not_null}{fits}"

    def taken(self, *, has_not_finite: bool = False) -> str:
        """The expression for this column of the JSON object `given.value`."""
        path = f"'$.\"{self.column.name.replace(chr(39), chr(39) * 2)}\"'"
        found = f"json_extract(given.value, {path})"
        as_json = f"nullif(given.value -> {path}, 'null')"
        match self.column.type.kind:
            case "json":
                return as_json
            case "decimal" if not is_real(self.column.type):
                is_text = f"json_type(given.value, {path}) = 'text'"
                return f"CASE WHEN {is_text} THEN {found} ELSE {as_json} END"
            case "floating" if has_not_finite:
                special = "WHEN 'Infinity' THEN 9e999 WHEN '-Infinity' THEN -9e999"
                return f"CASE {found} {special} ELSE {found} END"
        return found

    def bind(self, value: Any) -> Any:
        """A canonical value as a parameter of a statement."""
        match self.column.type.kind:
            case "floating":
                return _NOT_FINITE.get(value, value)
            case "decimal" if is_real(self.column.type):
                return float(value)
        return value

    @property
    def read(self) -> Callable[[Any], Any] | None:
        """From SQLite back to a canonical value; None where it is that already."""
        of = self.column.type
        match of.kind:
            case "boolean":
                return lambda value: None if value is None else bool(value)
            case "json":
                return lambda value: None if value is None else json.loads(value)
            case "decimal" | "floating":
                return of.canonical
        return None


def is_real(of: ColumnType) -> bool:
    return of.kind == "floating" or (of.kind == "decimal" and of.precision <= REAL_DIGITS)


def quoted(name: str) -> str:
    return f'"{name}"'


def add_decimal_collation(db: sqlite3.Connection) -> None:
    """Every connection that reads or writes views needs it."""
    db.create_collation("decimal", _compare_decimals)


def _compare_decimals(left: str, right: str) -> int:
    try:
        first, second = Decimal(left), Decimal(right)
    except InvalidOperation:
        return (left > right) - (left < right)
    return (first > second) - (first < second)


def _affinity(of: ColumnType) -> str:
    match of.kind:
        case "boolean" | "integer":
            return "INTEGER"
        case "floating":
            return "REAL"
        case "decimal":
            return "REAL" if is_real(of) else "TEXT COLLATE decimal"
    return "TEXT"


def _check(of: ColumnType, name: str) -> str:
    """What holds of a value that is of this type; empty if everything is."""
    limit = 1 << (of.bits - 1)
    is_integer = f"typeof({name}) = 'integer'"
    is_number = f"typeof({name}) = 'real'"
    has_digits = f"{name} GLOB '*[0-9]*' AND NOT {name} GLOB '*[^-+.0-9eE]*'"
    checks = {
        "boolean": f"{name} IN (0, 1)",
        "integer": is_integer
        if of.bits == 64
        else f"{is_integer} AND {name} BETWEEN {-limit} AND {limit - 1}",
        "floating": f"{is_number} OR {name} = 'NaN'",
        "decimal": is_number if is_real(of) else has_digits,
        "date": f"{name} GLOB '????-??-??'",
        "timestamp": f"{name} GLOB '????-??-??T??:??:??.??????Z'",
        "timestamp_ntz": f"{name} GLOB '????-??-??T??:??:??.??????'",
    }
    return checks.get(of.kind, "")
