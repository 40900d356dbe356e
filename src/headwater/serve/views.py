"""Routes: which views there are, how they are doing, and what can be done to them."""

from fastapi import APIRouter

from headwater.followers.follower import Follower
from headwater.serve.answers import ColumnAnswer, Health, ViewAnswer, ViewList, ViewSummary
from headwater.serve.as_of import as_of_answer
from headwater.serve.failures import DOCUMENTED
from headwater.serve.serving import Serving

_COUNT_WITHIN_S = 0.5


def router(serving: Serving) -> APIRouter:
    routes = APIRouter(tags=["views"], responses=DOCUMENTED)
    followers = serving.followers

    @routes.get("/health")
    async def health() -> Health:
        """Whether the server knows all its views; needs no token."""
        return Health(
            state="waiting" if followers.reason else "ok",
            reason=followers.reason,
            views=len(followers.all()),
            subscribers=serving.subscribers,
        )

    @routes.get("/views")
    async def list_views() -> ViewList:
        """Every view, with its lag."""
        return ViewList(views=[_summary(each) for each in followers.all()], reason=followers.reason)

    @routes.get("/views/{view}")
    async def describe_view(view: str) -> ViewAnswer:
        """One view: its columns, its key, how many rows it has."""
        follower = followers.get(view)
        rows = None
        if follower.served is not None:
            rows = await serving.read(
                follower, lambda _, reader: reader.count(within_s=_COUNT_WITHIN_S)
            )
        return _details(follower, rows)

    @routes.post("/views/{view}/pause")
    async def pause_view(view: str) -> ViewSummary:
        """Stop applying changes; what is served stays as it is. A restart of the server ends it."""
        followers.get(view).pause()
        return _summary(followers.get(view))

    @routes.post("/views/{view}/resume")
    async def resume_view(view: str) -> ViewSummary:
        """Go on after a pause."""
        followers.get(view).resume()
        return _summary(followers.get(view))

    @routes.post("/views/{view}/rebuild")
    async def rebuild_view(view: str) -> ViewSummary:
        """Build the view again from the beginning of its topic, beside what is served."""
        followers.get(view).rebuild()
        return _summary(followers.get(view))

    return routes


def _summary(follower: Follower) -> ViewSummary:
    status = follower.status()
    return ViewSummary(
        name=follower.view.name,
        comment=follower.view.comment,
        state=status.state,
        reason=status.reason,
        as_of=None if status.as_of is None else as_of_answer(status.as_of),
        lag_records=status.lag_records,
        lag_seconds=status.lag_seconds,
        rejected=status.rejected,
    )


def _details(follower: Follower, rows: int | None) -> ViewAnswer:
    view = follower.view_as_served
    return ViewAnswer(
        **_summary(follower).model_dump(),
        topic=view.topic,
        key=list(view.key),
        columns=[
            ColumnAnswer(name=each.name, type=each.type.name, nullable=each.is_nullable)
            for each in view.columns
        ],
        pipeline=follower.view.pipeline,
        version=view.version,
        indexes=[list(each) for each in view.indexes],
        rows=rows,
    )
