"""Transactions under fire, in short: writers and the broker are killed, and nothing is torn or lost.

The long form is `make transactions`.
"""

from pathlib import Path

from histories.rounds import SHORT, run_round
from rigs.brokers import Broker


def test_transactions_stay_whole_when_writers_and_the_broker_are_killed(
    own_broker: Broker, tmp_path: Path
):
    errors = tmp_path / "writers.log"

    verdict = run_round(own_broker, SHORT, seed=1, errors=errors)

    assert verdict.anomalies == []
    assert verdict.failures == [], errors.read_text(errors="replace")
    assert verdict.counts["broker killed"] >= 1
    # Without these the checker would have had nothing to find.
    assert verdict.counts["committed"] > 50
    assert verdict.counts["aborted records in the log"] > 0
