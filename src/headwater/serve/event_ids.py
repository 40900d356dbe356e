"""The id of an event: where in the topic to go on after it.

    0:124,1:77@1790000000000@Zq3xA9...

The next offset of each partition; when the topic last held no more than what is known with it; and what
it is an id of, so that an offset is never taken for one of another topic of the same name. The last two may
be left out.
"""

import re
from dataclasses import dataclass
from typing import Final

from headwater.errors import InvalidRequest
from headwater.followers.changes import Positions

_ID: Final = re.compile(
    r"(?P<offsets>\d{1,9}:\d{1,18}(?:,\d{1,9}:\d{1,18})*)(?:@(?P<at>\d{1,15})@(?P<tag>[\w.-]{1,300}))?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class EventId:
    positions: Positions
    at_ms: int | None = None
    tag: str | None = None

    def __str__(self) -> str:
        offsets = ",".join(f"{p}:{at}" for p, at in sorted(self.positions.items()))
        return offsets if self.tag is None else f"{offsets}@{self.at_ms}@{self.tag}"


def parse_event_id(text: str) -> EventId:
    found = _ID.fullmatch(text.strip())
    if found is None:
        raise InvalidRequest(
            f"{text[:60]!r} is not the id of an event",
            hint="give the id of the last event as it is",
        )
    pairs = (each.split(":") for each in found["offsets"].split(","))
    positions = {int(partition): int(offset) for partition, offset in pairs}
    return EventId(positions, int(found["at"]) if found["at"] else None, found["tag"])
