"""No error of librdkafka crosses the boundary, and none keeps its code as its message."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from headwater.client.kafka_errors import error_of, translate, translated
from headwater.errors import Conflict, HeadwaterError, InvalidRequest, NotFound, Unavailable


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (KafkaError._ALL_BROKERS_DOWN, Unavailable),
        (KafkaError._TIMED_OUT, Unavailable),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, NotFound),
        (KafkaError.UNKNOWN_MEMBER_ID, Conflict),
        (KafkaError.TOPIC_ALREADY_EXISTS, Conflict),
        (KafkaError.INVALID_CONFIG, InvalidRequest),
    ],
)
def test_codes_become_what_the_caller_can_do(code: int, kind: type[HeadwaterError]) -> None:
    error = translate(KafkaError(code), doing="read 'orders'")
    assert type(error) is kind
    assert error.what.startswith("cannot read 'orders': ")
    assert KafkaError(code).name() not in error.what


def test_a_code_without_a_meaning_keeps_its_name() -> None:
    error = translate(KafkaError(KafkaError.ELECTION_NOT_NEEDED), doing="elect")
    assert type(error) is HeadwaterError
    assert "ELECTION_NOT_NEEDED" in error.what


@pytest.mark.parametrize(
    ("said", "reason", "hint"),
    [
        ("Topic 'a_b' collides with a.b.", "topic 'a_b' collides with a.b", "choose another name"),
        ("the name is too long (hint: at most 249)", "the name is too long", "at most 249"),
    ],
)
def test_what_the_broker_said_is_not_replaced_by_a_guess(said: str, reason: str, hint: str) -> None:
    error = translate(KafkaError(KafkaError.TOPIC_EXCEPTION, said), doing="create it")
    assert (error.what, error.hint) == (f"cannot create it: {reason}", hint)


def test_too_many_partitions_do_not_get_the_hint_of_too_few() -> None:
    error = KafkaError(KafkaError.INVALID_PARTITIONS, "between 1 and 10000")
    assert "can only be added" not in translate(error, doing="create it").hint


def test_what_a_policy_forbids_is_refused_and_not_badly_asked() -> None:
    error = translate(KafkaError(KafkaError.POLICY_VIOLATION), doing="trim it")
    assert isinstance(error, Conflict)
    assert error.hint


def test_an_exception_is_translated_and_keeps_its_cause() -> None:
    cause = KafkaException(KafkaError(KafkaError._TIMED_OUT))
    with pytest.raises(Unavailable) as raised, translated("wait"):
        raise cause
    assert raised.value.__cause__ is cause


def test_our_own_errors_pass_unchanged() -> None:
    mine = Conflict(what="mine")
    assert error_of(mine, doing="pass") is mine
    with pytest.raises(Conflict) as raised, translated("pass"):
        raise mine
    assert raised.value is mine


def test_wrong_arguments_are_invalid_requests() -> None:
    assert type(error_of(ValueError("bad"), doing="try")) is InvalidRequest
