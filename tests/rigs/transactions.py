"""Whether a broker has transactions: it has if a transactional id is given a producer id."""

from conformance.calls import eventually
from conformance.raw import Connection, ErrorCode

STARTING = {
    ErrorCode.coordinator_not_available,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.not_coordinator,
}


def has_transactions(bootstrap: str) -> bool:
    with Connection(bootstrap) as connection:

        def answers() -> list[ErrorCode]:
            # Kafka makes the topic of its transactions when a coordinator is first asked for.
            connection.request("find_coordinator", 4, key_type=1, coordinator_keys=["probe"])
            answer = connection.request(
                "init_producer_id", 4, transactional_id="probe", transaction_timeout=60_000
            )
            return [] if answer.error_code in STARTING else [answer.error_code]

        (error,) = eventually(answers)
    assert error in {ErrorCode.none, ErrorCode.transactional_id_authorization_failed}, error
    return error == ErrorCode.none
