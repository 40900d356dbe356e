"""Incremental fetch sessions (KIP-227): a consumer of many partitions sends and receives only changes."""

import itertools
import random
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.fetch import FetchPartition, FetchRequest, PartitionData

MOST_SESSIONS: Final = 1000
MOST_PARTITIONS: Final = 500_000
"""Of all sessions together; half a kilobyte each."""
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
LARGEST_EPOCH: Final = 2**31 - 1

TopicKey = str | bytes
"""A topic as the request names it: by name up to version 12, by id from 13."""


@dataclass(slots=True)
class Followed:
    """One partition of a session: what the consumer asked last, and what it was told last."""

    request: FetchPartition
    high_watermark: int = -1
    log_start_offset: int = -1
    was_error: bool = False

    def is_news(self, answer: PartitionData) -> bool:
        """Whether the consumer learns something from this answer; remembers that it was told."""
        records = answer.records
        is_news = (
            (records is not None and len(records) > 0)
            or answer.error_code != 0
            or self.was_error
            or answer.high_watermark != self.high_watermark
            or answer.log_start_offset != self.log_start_offset
        )
        self.high_watermark = answer.high_watermark
        self.log_start_offset = answer.log_start_offset
        self.was_error = answer.error_code != 0
        return is_news


@dataclass(slots=True)
class Session:
    """What one consumer follows. A session of id 0 lasts for one request."""

    id: int
    is_by_id: bool
    epoch: int = 1
    partitions: dict[tuple[TopicKey, int], Followed] = field(default_factory=dict)
    is_incremental: bool = False

    @property
    def is_kept(self) -> bool:
        return self.id != 0


class FetchSessions:
    """The sessions of all consumers; the least recently used gives way."""

    def __init__(self, most_partitions: int = MOST_PARTITIONS) -> None:
        self._most_partitions = most_partitions
        self._sessions: OrderedDict[int, Session] = OrderedDict()
        self._partitions = 0
        self._ids = itertools.count(random.randrange(1, 1 << 30))  # noqa: S311 - not a secret

    def __len__(self) -> int:
        return len(self._sessions)

    def enter(self, request: FetchRequest, *, by_id: bool) -> Session | ErrorCode:
        """Return the session a request belongs to, brought up to date with it."""
        if request.session_epoch == FINAL_EPOCH:
            self._end(request.session_id)
            return _fill(Session(0, by_id), request)
        if request.session_epoch == INITIAL_EPOCH:
            self._end(request.session_id)
            return self._begin(_fill(Session(0, by_id), request))
        session = self._sessions.get(request.session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != request.session_epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if session.is_by_id != by_id:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        self._end(session.id)
        session.epoch = 1 if session.epoch == LARGEST_EPOCH else session.epoch + 1
        session.is_incremental = True
        if not self._fits(_fill(session, request)):
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND  # It asks for all again, without a session.
        self._keep(session)
        return session

    def _begin(self, session: Session) -> Session:
        if self._fits(session):
            session.id = next(self._ids) % LARGEST_EPOCH or 1
            self._keep(session)
        return session

    def _fits(self, session: Session) -> bool:
        return len(session.partitions) <= self._most_partitions

    def _keep(self, session: Session) -> None:
        self._sessions[session.id] = session
        self._partitions += len(session.partitions)
        while len(self._sessions) > MOST_SESSIONS or self._partitions > self._most_partitions:
            self._end(next(iter(self._sessions)))

    def _end(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._partitions -= len(session.partitions)


def _fill(session: Session, request: FetchRequest) -> Session:
    for topic in request.topics:
        key: TopicKey = topic.topic_id if session.is_by_id else topic.topic
        for each in topic.partitions:
            followed = session.partitions.get((key, each.partition))
            if followed is None:
                session.partitions[key, each.partition] = Followed(each)
            else:
                followed.request = each
    if not session.is_incremental:
        return session  # It begins with what it asks for; there is nothing to forget.
    for forgotten in request.forgotten_topics_data:
        key = forgotten.topic_id if session.is_by_id else forgotten.topic
        for index in forgotten.partitions:
            session.partitions.pop((key, index), None)
    return session
