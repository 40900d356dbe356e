"""Incremental fetch sessions: epochs, forgotten partitions, eviction, and nobody starves."""

import pytest

from broker.calls import create_topic, produce
from conformance.batches import batch, decode
from conformance.raw import Connection
from headwater.broker.fetch_sessions import LARGEST_EPOCH, MOST_SESSIONS, FetchSessions, Session
from headwater.testing import Broker
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)


def request(
    epoch: int,
    session_id: int = 0,
    partitions: tuple[int, ...] = (),
    forgotten: tuple[int, ...] = (),
) -> FetchRequest:
    return FetchRequest(
        session_id=session_id,
        session_epoch=epoch,
        topics=[
            FetchTopic(
                topic="t", partitions=[FetchPartition(partition=each) for each in partitions]
            )
        ],
        forgotten_topics_data=[ForgottenTopic(topic="t", partitions=list(forgotten))],
    )


def entered(sessions: FetchSessions, asked: FetchRequest) -> Session:
    session = sessions.enter(asked, by_id=False)
    assert isinstance(session, Session)
    return session


def test_a_full_request_makes_a_session_and_later_ones_change_it() -> None:
    sessions = FetchSessions()
    session = entered(sessions, request(0, partitions=(0, 1)))
    assert session.is_kept
    assert not session.is_incremental
    later = entered(sessions, request(1, session.id, partitions=(2,), forgotten=(0,)))
    assert later is session
    assert later.is_incremental
    assert [index for _, index in session.partitions] == [1, 2]


def test_the_epoch_counts_up_and_a_wrong_one_is_refused() -> None:
    sessions = FetchSessions()
    session = entered(sessions, request(0, partitions=(0,)))
    entered(sessions, request(1, session.id))
    assert (
        sessions.enter(request(1, session.id), by_id=False) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    )
    assert (
        sessions.enter(request(3, session.id), by_id=False) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    )
    entered(sessions, request(2, session.id))


def test_after_the_largest_epoch_comes_one() -> None:
    sessions = FetchSessions()
    session = entered(sessions, request(0))
    session.epoch = LARGEST_EPOCH
    entered(sessions, request(LARGEST_EPOCH, session.id))
    entered(sessions, request(1, session.id))


def test_an_unknown_session_is_refused() -> None:
    assert (
        FetchSessions().enter(request(1, 77), by_id=False) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    )


@pytest.mark.parametrize("epoch", [0, -1])
def test_a_full_request_ends_the_session_it_names(epoch: int) -> None:
    sessions = FetchSessions()
    old = entered(sessions, request(0))
    new = entered(sessions, request(epoch, old.id))
    assert new is not old
    assert sessions.enter(request(1, old.id), by_id=False) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert len(sessions) == (1 if epoch == 0 else 0)


def test_the_least_recently_used_gives_way() -> None:
    sessions = FetchSessions()
    made = [entered(sessions, request(0)) for _ in range(MOST_SESSIONS)]
    entered(sessions, request(1, made[0].id))
    entered(sessions, request(0))
    assert len(sessions) == MOST_SESSIONS
    assert (
        sessions.enter(request(1, made[1].id), by_id=False) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    )
    entered(sessions, request(2, made[0].id))


def test_sessions_together_follow_a_bounded_number_of_partitions() -> None:
    sessions = FetchSessions(most_partitions=10)
    old, used = (entered(sessions, request(0, partitions=tuple(range(4)))) for _ in range(2))
    entered(sessions, request(1, old.id))
    entered(sessions, request(1, used.id))
    new = entered(sessions, request(0, partitions=tuple(range(6))))
    assert new.is_kept
    assert sessions.enter(request(2, old.id), by_id=False) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    entered(sessions, request(2, used.id))


def test_a_session_that_grows_makes_others_give_way() -> None:
    sessions = FetchSessions(most_partitions=10)
    other = entered(sessions, request(0, partitions=tuple(range(4))))
    growing = entered(sessions, request(0, partitions=tuple(range(6))))
    entered(sessions, request(1, growing.id, partitions=(6,)))
    assert sessions.enter(request(1, other.id), by_id=False) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert len(growing.partitions) == 7


def test_a_session_cannot_grow_for_ever() -> None:
    sessions = FetchSessions(most_partitions=10)
    session = entered(sessions, request(0, partitions=tuple(range(10))))
    grown = sessions.enter(request(1, session.id, partitions=(10,)), by_id=False)
    assert grown is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert len(sessions) == 0
    anew = entered(sessions, request(0, partitions=tuple(range(11))))
    assert not anew.is_kept
    assert len(anew.partitions) == 11


def test_partitions_that_are_forgotten_make_room() -> None:
    sessions = FetchSessions(most_partitions=10)
    session = entered(sessions, request(0, partitions=tuple(range(10))))
    entered(sessions, request(1, session.id, forgotten=(0, 1, 2, 3)))
    other = entered(sessions, request(0, partitions=(0, 1, 2, 3)))
    entered(sessions, request(2, session.id))
    assert sessions.enter(request(-1, other.id), by_id=False) is not other
    entered(sessions, request(3, session.id, partitions=(0, 1, 2, 3)))


def test_only_what_is_new_is_news() -> None:
    session = entered(FetchSessions(), request(0, partitions=(0,)))
    followed = session.partitions["t", 0]
    empty = PartitionData(high_watermark=5, log_start_offset=0, records=b"")
    assert followed.is_news(empty)
    assert not followed.is_news(empty)
    assert followed.is_news(PartitionData(high_watermark=5, log_start_offset=2, records=b""))
    assert followed.is_news(PartitionData(high_watermark=6, log_start_offset=2, records=b""))
    assert followed.is_news(PartitionData(high_watermark=6, log_start_offset=2, records=b"x"))
    assert followed.is_news(PartitionData(error_code=3, high_watermark=-1, records=b""))
    assert followed.is_news(PartitionData(high_watermark=6, log_start_offset=2, records=b""))


def served_in_turn(
    connection: Connection, partitions: int, max_bytes: int, rounds: int
) -> list[list[int]]:
    """Read on and on in one session; returns which partitions each answer holds records of."""
    offsets = dict.fromkeys(range(partitions), 0)
    served = []
    session_id = 0
    for epoch in range(rounds):
        wanted = [
            {
                "partition": index,
                "fetch_offset": offset,
                "partition_max_bytes": max_bytes,
                "current_leader_epoch": -1,
            }
            for index, offset in offsets.items()
        ]
        answer = connection.request(
            "fetch",
            11,
            max_wait=0,
            min_bytes=1,
            max_bytes=max_bytes,
            session_id=session_id,
            session_epoch=epoch,
            topics=[{"topic": "t", "partitions": wanted}],
        )
        session_id = answer.session_id
        given = [each for topic in answer.responses for each in topic.partitions if each.records]
        served.append([each.partition_index for each in given])
        for each in given:
            offsets[each.partition_index] += len(decode(each.records))
    return served


def test_partitions_take_turns_when_an_answer_holds_only_one(broker: Broker) -> None:
    create_topic(broker, "t", partitions=3)
    with Connection(broker.bootstrap) as connection:
        for partition in (0, 1, 2):
            for _ in range(3):
                produce(connection, "t", batch(bytes(1000)), partition)
        served = served_in_turn(connection, 3, 1200, rounds=9)
    assert served == [[0], [1], [2]] * 3


def test_what_a_nearly_full_answer_leaves_out_comes_first_in_the_next(broker: Broker) -> None:
    create_topic(broker, "t", partitions=2)
    large, small = batch(bytes(1000)), batch(b"x")
    with Connection(broker.bootstrap) as connection:
        for _ in range(2):
            produce(connection, "t", large, 0)
            produce(connection, "t", small, 1)
        served = served_in_turn(connection, 2, len(large) + len(small) + 10, rounds=3)
    assert served == [[0], [1], [0]]
