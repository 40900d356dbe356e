"""What begins again together: all flows of a topic, and every query that has read what they wrote.

A topic is emptied as a whole, so a flow whose checkpoint stayed would lack its rows for good; and a reader
whose checkpoint stayed would count the rows that are written anew once more.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headwater.streams.run.status import Status


@dataclass(frozen=True, slots=True)
class Member:
    status: "Status"
    why: str


def together(named: "Iterable[Status]", known: "Iterable[Status]") -> list[Member]:
    """Those that were named, then who fills the same topics and who reads them, on and on."""
    found = {_place(each): Member(each, "named") for each in named}
    others = {_place(each): each for each in known if _place(each) not in found}
    waiting = list(found.values())
    while waiting:
        topics = emptied(waiting.pop(0).status)
        for each in list(others.values()):
            why = _why(each, topics)
            if why:
                del others[_place(each)]
                found[_place(each)] = Member(each, why)
                waiting.append(found[_place(each)])
    return list(found.values())


def _place(status: "Status") -> tuple[str, str]:
    """Tells a version of a query from another: they fill topics of their own."""
    return status.name, status.topic


def emptied(status: "Status") -> tuple[str, str]:
    """The topic of a query, and that of its rows under quarantine, which may not be there."""
    from headwater.streams.datasets import quarantine_of  # noqa: PLC0415

    return status.topic, quarantine_of(status.topic)


def _why(status: "Status", topics: tuple[str, str]) -> str:
    if status.topic in topics:
        return f"fills {status.topic}"
    read = [each for each in status.reads.values() if each in topics]
    return f"reads {read[0]}" if read else ""
