"""What the server answers, as models: they are the schema in `/openapi.json`."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from headwater.serve.receipts import GivenReceipts

AsOf = Annotated[
    dict[str, int],
    Field(
        description="Partition of the changelog -> next offset: everything before it is in the answer.",
        examples=[{"0": 124}],
    ),
]
Row = Annotated[dict[str, Any], Field(description="Values by column.")]


class Failure(BaseModel):
    kind: str = Field(description="The class of the error, as in headwater.errors.")
    what: str
    hint: str
    retriable: bool


class FailureAnswer(BaseModel):
    error: Failure


class ViewSummary(BaseModel):
    name: str
    comment: str
    state: Literal["starting", "building", "following", "paused", "waiting", "failed"]
    reason: str = Field(description="Why it waits, failed or is built again; else empty.")
    as_of: AsOf | None = Field(description="null: it has not been built yet.")
    lag_records: int | None
    lag_seconds: float | None = Field(
        description="How long ago the view equalled the end of its topic; 0 while it does."
    )
    rejected: int = Field(description="Records that went to the dead-letter topic.")


class ViewList(BaseModel):
    views: list[ViewSummary]
    reason: str = Field(description="Why this list may not be complete; else empty.")


class ColumnAnswer(BaseModel):
    name: str
    type: str
    nullable: bool


class ViewAnswer(ViewSummary):
    topic: str
    key: list[str]
    columns: list[ColumnAnswer]
    pipeline: str
    version: int
    indexes: list[list[str]]
    rows: int | None = Field(description="null: it would take too long to count them.")


class RowAnswer(BaseModel):
    row: Row
    as_of: AsOf


class NoRowAnswer(FailureAnswer):
    as_of: AsOf | None = Field(
        default=None, description="That the key has no row is true of it; absent: there is no view."
    )


class RowsAnswer(BaseModel):
    rows: list[Row]
    as_of: AsOf
    next: str | None = Field(
        description="Give it as `after` for the next page; null: there is none."
    )


class QueryRequest(BaseModel):
    model_config = {"extra": "forbid"}

    sql: str = Field(max_length=50_000, examples=["SELECT count(*) FROM revenue"])
    parameters: list[str | int | float | bool | None] = Field(
        default_factory=list, max_length=100, description="Values for `?` in the query."
    )
    limit: int | None = Field(default=None, ge=1, description="Rows, at most.")
    wait_for: GivenReceipts = Field(
        default=None,
        description="A receipt of a producer, or several, in JSON or as topic/partition/offset: answer "
        "only once every view of the query that can tell has these records.",
        examples=["orders/0/41", {"topic": "orders", "partition": 0, "offset": 41}],
    )
    timeout_s: float = Field(default=5.0, ge=0, le=3600)


class QueryAnswer(BaseModel):
    columns: list[str]
    rows: list[list[Any]]
    as_of: dict[str, AsOf] = Field(description="For every view that the query read.")
    is_truncated: bool = Field(description="There is more than the limits of rows or bytes allow.")


class Health(BaseModel):
    state: Literal["ok", "waiting"]
    reason: str
    views: int
    subscribers: int
