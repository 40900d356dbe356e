"""Served views: one row, many rows, SQL, subscriptions; over HTTP, typed by the view's columns."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Self

from headwater.client.record import Receipt
from headwater.client.sql_parameters import sql_parameter
from headwater.client.view_address import ViewAddress
from headwater.client.view_http import ViewHttp
from headwater.client.view_subscription import Subscription, typed_row
from headwater.errors import InvalidRequest, NotFound
from headwater.views import Column, View, parse_type
from headwater.views.keys import canonical_key

PAGE_ROWS: Final = 1000


class Row(dict[str, Any]):
    """The values of a row by column, and the offsets of the changelog that it is true of."""

    def __init__(self, values: Mapping[str, Any], as_of: Mapping[int, int]) -> None:
        super().__init__(values)
        self.as_of = as_of


@dataclass(frozen=True, slots=True)
class Table:
    """The answer to a query in SQL."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    as_of: Mapping[str, Mapping[int, int]]
    """For every view that was read."""
    is_truncated: bool
    """There was more than the server's limits allow."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Each row by column."""
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class ViewStatus:
    """How a view is doing; see `docs/views.md` for the states."""

    name: str
    comment: str
    state: str
    reason: str
    as_of: Mapping[int, int] | None
    lag_records: int | None
    lag_seconds: float | None
    rejected: int


@dataclass(frozen=True, slots=True)
class ViewDetails:
    status: ViewStatus
    view: View
    rows: int | None


class Views:
    """The views of one server."""

    def __init__(
        self, address: ViewAddress, token: str | None = None, timeout_s: float = 10.0
    ) -> None:
        given = os.environ.get("HEADWATER_VIEWS_TOKEN", "") if token is None else token
        self._server = ViewHttp(address, given, timeout_s)

    def list(self) -> list[ViewStatus]:
        answer = self._server.get("views")
        return self._server.read(answer, lambda found: [_status(each) for each in found["views"]])

    def view(self, name: str) -> "ServedView":
        """Nothing is asked before its first use."""
        return ServedView(self._server, name)

    def query(
        self,
        sql: str,
        *parameters: Any,
        limit: int | None = None,
        wait_for: Receipt | None = None,
        timeout_s: float = 5.0,
    ) -> Table:
        """One SELECT over views; `?` stands for a parameter.

        Values are those of JSON; booleans are 0 and 1. See `ServedView.get` for `wait_for`.
        """
        content = {"sql": sql, "parameters": [*map(sql_parameter, parameters)], "limit": limit}
        return _query(self._server, content, wait_for, timeout_s)

    def close(self) -> None:
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ServedView:
    """One view. Values are typed: timestamps are datetimes, decimals Decimals, binary bytes."""

    def __init__(self, server: ViewHttp, name: str) -> None:
        self._server = server
        self.name = name

    @cached_property
    def definition(self) -> View:
        """Its columns and its key."""
        return self.describe().view

    def _key(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Looked at again if it does not fit: the view may have been given another key since then."""
        try:
            return canonical_key(self.definition, values)
        except InvalidRequest:
            self._look_again()
            return canonical_key(self.definition, values)

    def _typed(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """By the columns that the view has now, if they are not those that were known."""
        if row.keys() == self.definition.by_name.keys():
            with suppress(ValueError, TypeError, ArithmeticError):
                return typed_row(self.definition, row)
        self._look_again()
        return typed_row(self.definition, row)

    def _path(self, *what: str) -> tuple[str, ...]:
        """With such a name it would be the path of something else."""
        if not self.name or "/" in self.name:
            raise NotFound(f"there is no view {self.name!r}", "see the views: headwater view list")
        return ("views", self.name, *what)

    def _look_again(self) -> None:
        self.__dict__.pop("definition", None)

    def describe(self) -> ViewDetails:
        """The definition as it is served, its lag, and how many rows there are."""
        return self._server.read(self._server.get(*self._path()), _details)

    def get(
        self,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        wait_for: Receipt | None = None,
        timeout_s: float = 5.0,
        **columns: Any,
    ) -> Row | None:
        """The row of a key, or None.

            view.get(minute="2026-09-01T10:00Z", customer=7)
            view.get({"wait_for": 7})  # columns that are called like an argument

        With `wait_for`, a receipt of a producer, the answer has that record in it: read your own
        writes. Raises `TimedOut` if that takes longer than `timeout_s`.
        """
        values = self._key({**(key or {}), **columns})
        parameters = {
            "key": [_text(values[name]) for name in self.definition.key],
            "wait_for": _receipt(wait_for),
            "timeout_s": timeout_s,
        }
        try:
            answer = self._server.get(*self._path("row"), parameters=parameters, wait_s=timeout_s)
        except NotFound:
            self.describe()  # raises if it is the view that is not there
            return None
        return self._server.read(
            answer, lambda found: Row(self._typed(found["row"]), _as_of(found["as_of"]))
        )

    def rows(
        self,
        where: str = "",
        *,
        limit: int | None = None,
        wait_for: Receipt | None = None,
        timeout_s: float = 5.0,
        **equals: Any,
    ) -> Iterator[Row]:
        """The rows that match, in the order of the key, fetched page by page.

        view.rows("total > 100", customer=7)
        """
        parameters: dict[str, Any] = {
            "where": self._where(where, equals),
            "wait_for": _receipt(wait_for),
            "timeout_s": timeout_s,
        }
        left = limit
        while left is None or left > 0:
            parameters["limit"] = PAGE_ROWS if left is None else min(PAGE_ROWS, left)
            answer = self._server.get(*self._path("rows"), parameters=parameters, wait_s=timeout_s)
            page, after = self._server.read(answer, self._page)
            yield from page
            left = None if left is None else left - len(page)
            if after is None:
                return
            parameters["after"] = after

    def _page(self, answer: Any) -> tuple[list[Row], str | None]:
        as_of = _as_of(answer["as_of"])
        return [Row(self._typed(row), as_of) for row in answer["rows"]], answer["next"]

    def query(
        self,
        sql: str,
        *parameters: Any,
        limit: int | None = None,
        wait_for: Receipt | None = None,
        timeout_s: float = 5.0,
    ) -> Table:
        """The same as `Views.query`: `SELECT sum(total) FROM revenue`."""
        content = {"sql": sql, "parameters": [*map(sql_parameter, parameters)], "limit": limit}
        return _query(self._server, content, wait_for, timeout_s)

    def subscribe(
        self,
        where: str = "",
        *,
        snapshot: bool = True,
        last_id: str | None = None,
        progress: bool = False,
        **equals: Any,
    ) -> Subscription:
        """All rows that match, then every change of them.

            for change in view.subscribe(customer=7):
                print(change.kind, change.row, change.as_of)

        `last_id` goes on after the event with that id; `snapshot=False` begins with what comes next.
        """
        parameters = {
            "where": self._where(where, equals),
            "snapshot": "true" if snapshot else "false",
        }
        return Subscription(
            self._server,
            parameters,
            lambda: self.describe().view,
            last_id=last_id,
            progress=progress,
        )

    def pause(self) -> None:
        """Stop applying changes; what is served stays as it is."""
        self._server.post(*self._path("pause"))

    def resume(self) -> None:
        self._server.post(*self._path("resume"))

    def rebuild(self) -> None:
        """Build it again from the beginning of its topic, beside what is served."""
        self._server.post(*self._path("rebuild"))

    def _where(self, where: str, equals: Mapping[str, Any]) -> str | None:
        terms = [f"({where})"] if where else []
        for name, value in equals.items():
            column = self.definition.by_name.get(name)
            if column is None:
                raise InvalidRequest(
                    f"view {self.name!r} has no column {name!r}",
                    hint=f"there are {', '.join(self.definition.by_name)}",
                )
            terms.append(f"row[{name!r}] == {column.type.canonical(value)!r}")
        return " and ".join(terms) or None


def _query(
    server: ViewHttp, content: Mapping[str, Any], wait_for: Receipt | None, timeout_s: float
) -> Table:
    waiting = {"wait_for": _receipt(wait_for), "timeout_s": timeout_s}
    answer = server.post("query", content={**content, **waiting}, wait_s=timeout_s)
    return server.read(answer, _table)


def _table(answer: Mapping[str, Any]) -> Table:
    return Table(
        columns=tuple(answer["columns"]),
        rows=tuple(tuple(row) for row in answer["rows"]),
        as_of={name: _as_of(at) for name, at in answer["as_of"].items()},
        is_truncated=answer["is_truncated"],
    )


def _status(answer: Mapping[str, Any]) -> ViewStatus:
    return ViewStatus(
        name=answer["name"],
        comment=answer["comment"],
        state=answer["state"],
        reason=answer["reason"],
        as_of=None if answer["as_of"] is None else _as_of(answer["as_of"]),
        lag_records=answer["lag_records"],
        lag_seconds=answer["lag_seconds"],
        rejected=answer["rejected"],
    )


def _details(answer: Mapping[str, Any]) -> ViewDetails:
    return ViewDetails(_status(answer), _definition(answer), answer["rows"])


def _definition(answer: Mapping[str, Any]) -> View:
    return View(
        name=answer["name"],
        topic=answer["topic"],
        key=tuple(answer["key"]),
        columns=tuple(
            Column(each["name"], parse_type(each["type"]), each["nullable"])
            for each in answer["columns"]
        ),
        comment=answer["comment"],
        pipeline=answer["pipeline"],
        version=answer["version"],
        indexes=tuple(tuple(each) for each in answer["indexes"]),
    )


def _as_of(answer: Mapping[str, int]) -> dict[int, int]:
    return {int(partition): offset for partition, offset in answer.items()}


def _receipt(receipt: Receipt | None) -> str | None:
    return None if receipt is None else f"{receipt.topic}/{receipt.partition}/{receipt.offset}"


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
