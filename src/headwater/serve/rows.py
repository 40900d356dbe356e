"""Routes: rows of one view, by key or by filter, page by page."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import StringConstraints

from headwater.client.record_json import as_json
from headwater.errors import InvalidRequest, NotFound
from headwater.followers.follower import Follower
from headwater.followers.store import Answer, Page, Reader, Row, Store
from headwater.serve.answers import NoRowAnswer, RowAnswer, RowsAnswer
from headwater.serve.as_of import as_of_answer
from headwater.serve.cursor import LONGEST, decode_cursor, end_of_page
from headwater.serve.events import to_bytes
from headwater.serve.failures import DOCUMENTED, content_of
from headwater.serve.receipts import MOST, parse_receipt
from headwater.serve.serving import Serving
from headwater.views import View
from headwater.views.keys import canonical_key
from headwater.views.where import MAX_LENGTH, parse_where

WaitFor = Annotated[
    list[Annotated[str, StringConstraints(max_length=1000)]] | None,
    Query(
        description="A receipt of a producer, as JSON or as topic/partition/offset: answer only once "
        "the view has this record. Given more than once: all of them.",
        max_length=MOST,
        examples=[["orders/0/41"]],
    ),
]
TimeoutS = Annotated[float, Query(description="How long to wait for them.", ge=0, le=3600)]
Where = Annotated[
    str | None,
    Query(
        description="Which rows, for example: customer == 7 and total > 100",
        max_length=MAX_LENGTH,
    ),
]


class JsonAnswer(Response):
    """Rows are canonical JSON values already: they need no model to check them again."""

    media_type = "application/json"

    def __init__(self, content: object, status: int = 200) -> None:
        super().__init__(to_bytes(as_json(content)), status)


def router(serving: Serving) -> APIRouter:
    routes = APIRouter(tags=["rows"], responses=DOCUMENTED)

    no_row: dict[int | str, dict[str, Any]] = {
        404: {"model": NoRowAnswer, "description": "There is no such row, or no such view."}
    }

    @routes.get("/views/{view}/row", response_model=RowAnswer, responses=no_row)
    async def get_row(
        view: str,
        key: Annotated[
            list[str],
            Query(description="The values of the key, in its order.", min_length=1, max_length=100),
        ],
        wait_for: WaitFor = None,
        timeout_s: TimeoutS = 5.0,
    ) -> Response:
        """One row by its key."""
        follower = serving.followers.get(view)
        await _wait(serving, follower, wait_for, timeout_s)

        def look_up(store: Store, reader: Reader) -> Answer:
            return reader.get(_key(store.view, key))

        found = await serving.read(follower, look_up)
        as_of = as_of_answer(found.as_of)
        if not found.rows:
            none = NotFound(f"view {view!r} has no row with the key {', '.join(key)}")
            return JsonAnswer({**content_of(none), "as_of": as_of}, 404)
        return JsonAnswer({"row": found.rows[0], "as_of": as_of})

    @routes.get("/views/{view}/rows", response_model=RowsAnswer)
    async def list_rows(
        view: str,
        *,
        where: Where = None,
        limit: Annotated[int, Query(ge=1, le=1_000_000)] = 100,
        after: Annotated[
            str | None, Query(description="`next` of the page before.", max_length=LONGEST)
        ] = None,
        wait_for: WaitFor = None,
        timeout_s: TimeoutS = 5.0,
    ) -> Response:
        """The rows that match, in the order of the key."""
        follower = serving.followers.get(view)
        await _wait(serving, follower, wait_for, timeout_s)
        settings = serving.settings
        size, within_s = min(limit, settings.max_rows), settings.max_query_ms / 1000

        def scan(store: Store, reader: Reader) -> tuple[View, Answer]:
            chosen = None if where is None else parse_where(store.view, where)
            start = None if after is None else decode_cursor(store.view, after)
            page = Page(size + 1, start, settings.max_answer_bytes, within_s)
            return store.view, reader.scan(chosen, page)

        defined, found = await serving.read(follower, scan)
        rows: Sequence[Row] = found.rows[:size]
        after_them = None
        if found.is_cut or len(found.rows) > size:
            rows, after_them = end_of_page(defined, rows)
        return JsonAnswer(
            {
                "rows": rows,
                "as_of": as_of_answer(found.as_of),
                "next": after_them,
            }
        )

    return routes


async def _wait(
    serving: Serving, follower: Follower, wait_for: list[str] | None, timeout_s: float
) -> None:
    receipts = [parse_receipt(each) for each in wait_for or ()]
    await serving.wait([(follower, each) for each in receipts], timeout_s)


def _key(view: View, values: list[str]) -> dict[str, object]:
    if len(values) != len(view.key):
        raise InvalidRequest(
            f"the key of view {view.name!r} has {len(view.key)} columns, and {len(values)} values "
            "were given",
            hint=f"give key= once for each of {', '.join(view.key)}",
        )
    return canonical_key(view, dict(zip(view.key, values, strict=True)))
