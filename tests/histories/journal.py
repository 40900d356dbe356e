"""What a writer says on its standard output, one JSON object per line, and the transactions it tells of.

A line is written before the deed it announces: after SIGKILL the journal knows of everything that may
have happened.
"""

import json
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

from histories.history import Append, Outcome, Transaction

PLANNED, COMMIT_ASKED, ENDED, READY = "planned", "commit asked", "ended", "ready"


class Journal:
    """The writer's end."""

    def ready(self) -> None:
        _say(event=READY)

    def planned(self, transaction: Transaction) -> None:
        _say(event=PLANNED, transaction=asdict(transaction))

    def commit_asked(self) -> None:
        _say(event=COMMIT_ASKED, at=time.monotonic())

    def ended(self, outcome: Outcome) -> None:
        _say(event=ENDED, outcome=outcome)


def _say(**line: Any) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def told(lines: Iterable[dict[str, Any]]) -> list[Transaction]:
    """The transactions of one writer process. One that never asked for its commit is aborted."""
    found: list[Transaction] = []
    for line in lines:
        match line["event"]:
            case "planned":
                found.append(_planned(line["transaction"]))
            case "commit asked":
                asked = {"outcome": Outcome.UNKNOWN, "commit_asked_at": line["at"]}
                found[-1] = replace(found[-1], **asked)
            case "ended":
                found[-1] = replace(found[-1], outcome=Outcome(line["outcome"]))
    return found


def _planned(fields: dict[str, Any]) -> Transaction:
    appends = (
        Append((each["partition"][0], each["partition"][1]), each["value"], each["source"])
        for each in fields["appends"]
    )
    offsets = (((topic, index), offset) for (topic, index), offset in fields["offsets"])
    known = {"outcome": Outcome.ABORTED, "appends": tuple(appends), "offsets": tuple(offsets)}
    return Transaction(**fields | known)
