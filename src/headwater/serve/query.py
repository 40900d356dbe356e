"""Routes: read-only SQL over views."""

import asyncio

from fastapi import APIRouter
from fastapi.responses import Response

from headwater.errors import Corruption, InvalidRequest, NotSupported, Unavailable
from headwater.followers.follower import Follower
from headwater.followers.sqlite.query import (
    DamagedViews,
    Limits,
    NoSuchTable,
    Table,
    run_query,
)
from headwater.followers.sqlite.question import Question, understand
from headwater.followers.sqlite.reader import SqliteReader
from headwater.followers.store import Store
from headwater.serve.answers import QueryAnswer, QueryRequest
from headwater.serve.as_of import as_of_answer
from headwater.serve.failures import DOCUMENTED
from headwater.serve.receipts import parse_receipts
from headwater.serve.rows import JsonAnswer
from headwater.serve.serving import Serving, served_of


def router(serving: Serving) -> APIRouter:
    routes = APIRouter(tags=["query"], responses=DOCUMENTED)

    @routes.post("/query", response_model=QueryAnswer)
    async def query(question: QueryRequest) -> Response:
        """One SELECT over views, by their names: `FROM shop.revenue` or `FROM revenue`.

        Limited in time, in rows and in bytes. Booleans are 0 and 1, nested values are JSON text.
        """
        not_all_known = serving.followers.reason
        asked = await _understand(serving, question.sql)
        chosen = [serving.followers.get(name) for name in asked.views]
        await _wait(serving, chosen, question)
        try:
            table = await _run(serving, chosen, question, asked)
        except NoSuchTable as error:
            if not_all_known:
                raise Unavailable(
                    f"a view of the query is not known yet: {not_all_known}", hint="ask again"
                ) from error
            raise InvalidRequest(error.what, error.hint) from error
        return JsonAnswer(
            {
                "columns": table.columns,
                "rows": table.rows,
                "as_of": {name: as_of_answer(at) for name, at in table.as_of.items()},
                "is_truncated": table.is_truncated,
            }
        )

    return routes


async def _understand(serving: Serving, sql: str) -> Question:
    known = {each.view.name: each.view_as_served for each in serving.followers.all()}
    return await serving.threads.run(understand, sql, known, serving.settings.max_query_ms / 1000)


async def _wait(serving: Serving, chosen: list[Follower], question: QueryRequest) -> None:
    wanted = []
    for receipt in parse_receipts(question.wait_for):
        concerned = [each for each in chosen if each.view.tells_of(receipt.topic)]
        if not concerned:
            raise InvalidRequest(
                f"no view of the query can tell when it has records of {receipt.topic!r}"
            )
        wanted += [(each, receipt) for each in concerned]
    await serving.wait(wanted, question.timeout_s)


async def _run(
    serving: Serving, chosen: list[Follower], question: QueryRequest, asked: Question
) -> Table:
    settings = serving.settings
    limits = Limits(
        rows=min(question.limit or settings.max_rows, settings.max_rows),
        answer_bytes=settings.max_answer_bytes,
        time_s=settings.max_query_ms / 1000,
    )
    try:
        await asyncio.wait_for(serving.queries.acquire(), limits.time_s)
    except TimeoutError as error:
        raise Unavailable(
            f"{settings.max_queries} other queries are running", hint="ask again"
        ) from error
    try:
        stores = [served_of(each) for each in chosen]
        return await serving.threads.run(
            run_query, asked, question.parameters, _readers(stores), limits
        )
    except DamagedViews as error:
        for each, store in zip(chosen, stores, strict=True):
            if store.view.name in error.views:
                each.note_damage(store)
        raise Corruption(error.what, error.hint) from error
    finally:
        serving.queries.release()


def _readers(stores: list[Store]) -> dict[str, SqliteReader]:
    readers = {each.view.name: each.reader for each in stores}
    for name, reader in readers.items():
        if not isinstance(reader, SqliteReader):
            raise NotSupported(f"view {name!r} is kept in a store without SQL")
    return readers  # type: ignore[return-value]
