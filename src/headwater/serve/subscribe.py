"""Routes: subscriptions, as server-sent events."""

from collections.abc import AsyncGenerator, AsyncIterator, MutableMapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query
from fastapi.responses import Response, StreamingResponse
from starlette.types import Receive, Send

from headwater.client.record_filter import parse_record_filter
from headwater.errors import HeadwaterError
from headwater.serve.event_ids import EventId, parse_event_id
from headwater.serve.failures import DOCUMENTED, answer_to
from headwater.serve.rows import Where
from headwater.serve.serving import Serving, served_of
from headwater.serve.subscription import Subscription
from headwater.serve.topic_feed import RecordTest, TopicFeed
from headwater.serve.view_feed import ViewFeed
from headwater.views.where import parse_where

Events = AbstractAsyncContextManager[AsyncIterator[bytes]]

_STREAM: Final[dict[int | str, dict[str, Any]]] = {
    **DOCUMENTED,
    200: {
        "description": "Events: snapshot, change or record, progress, resync, failed.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    },
}
MOST_ID_CHARACTERS: Final = 100_000
"""It names every partition, and there may be thousands."""
LastEventId = Annotated[
    str | None,
    Header(
        description="The id of the last event that was seen: go on right after it.",
        max_length=MOST_ID_CHARACTERS,
    ),
]


class EventStream(Response):
    """Opens its events when it is sent, and closes them when the reader has gone."""

    media_type = "text/event-stream"

    def __init__(self, events: Events) -> None:
        super().__init__()
        self._events = events

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        try:
            async with self._events as events:
                stream = StreamingResponse(events, media_type=self.media_type, headers=headers)
                await stream(scope, receive, send)
        except HeadwaterError as error:  # not opened: nothing has been sent yet
            await answer_to(error)(scope, receive, send)


def router(serving: Serving) -> APIRouter:
    routes = APIRouter(
        tags=["subscriptions"], responses=_STREAM, default_response_class=EventStream
    )

    @routes.get("/views/{view}/subscribe", response_model=None, status_code=200)
    async def subscribe_to_view(
        view: str,
        where: Where = None,
        *,
        snapshot: Annotated[
            bool, Query(description="Begin with all rows that match; else with the next change.")
        ] = True,
        last_event_id: LastEventId = None,
    ) -> EventStream:
        """Rows as they are, then every change of them."""
        follower = serving.followers.get(view)
        chosen = None if where is None else parse_where(served_of(follower).view, where)
        feed = ViewFeed(follower, serving, chosen, snapshot=snapshot)
        return EventStream(_view_events(serving, feed, _last(last_event_id)))

    @routes.get("/topics/{topic}/subscribe", response_model=None, status_code=200)
    async def subscribe_to_topic(
        topic: str, where: Where = None, last_event_id: LastEventId = None
    ) -> EventStream:
        """Records of a topic as they arrive, or from after the last event on."""
        matches = None if where is None else parse_record_filter(where)
        chosen = (where or "", matches)
        return EventStream(_topic_events(serving, topic, chosen, _last(last_event_id)))

    return routes


@asynccontextmanager
async def _view_events(
    serving: Serving, feed: ViewFeed, last: EventId | None
) -> AsyncGenerator[AsyncIterator[bytes]]:
    with serving.subscriber(), feed.watched():
        async with aclosing(Subscription(feed, serving, last).stream()) as events:
            yield events


@asynccontextmanager
async def _topic_events(
    serving: Serving, topic: str, chosen: tuple[str, RecordTest | None], last: EventId | None
) -> AsyncGenerator[AsyncIterator[bytes]]:
    with serving.subscriber():
        async with serving.topic_tails.watch(topic, serving.bell.ring) as shared:
            feed = TopicFeed(shared, *chosen)
            async with aclosing(Subscription(feed, serving, last).stream()) as events:
                yield events


def _last(text: str | None) -> EventId | None:
    return parse_event_id(text) if text else None
