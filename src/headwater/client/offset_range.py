"""rpk's offset grammar: one word for where to start reading and, after a colon, where to stop.

    start  end  47  +2  -3         the ends, an exact offset, after the start, before the end
    earliest  latest               the ends, as Kafka's clients call them
    10:20  :end  -100:end          from (inclusive) until (exclusive)
    @-15m  @09:00  @2026-09-01  @2026-09-01T10:00Z  @1644796800000      by timestamp
    @-1h:@-30m  @-1h:-30m  @2026-09-01:1h  @-1h:end                    ranges of time
    @:@-5m  @:-5m  @:2026-09-01    from the start until a time

A time without a zone is in the zone of `now`. `@09:00` is the last nine o'clock that has passed.
The parser is pure; `resolve_offsets` turns its result into offsets.
"""

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from headwater.client.record import milliseconds_of
from headwater.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class Start:
    """`distance` records after the log's start."""

    distance: int = 0


@dataclass(frozen=True, slots=True)
class End:
    """`distance` records before the log's end."""

    distance: int = 0


@dataclass(frozen=True, slots=True)
class Exact:
    offset: int


@dataclass(frozen=True, slots=True)
class At:
    """The first record at or after this moment."""

    timestamp_ms: int


Position = Start | End | Exact | At

Partition = TypeVar("Partition", bound=Hashable)


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """`until` is exclusive; None means follow for ever."""

    start: Position
    until: Position | None = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """Offsets of one partition: `until` is exclusive, None means no end."""

    start: int
    until: int | None = None


def parse_offset_range(text: str, *, now: datetime) -> OffsetRange:
    """Parse a position or a range; `now` (with a zone) is what relative times are relative to."""
    words = _Words(text, now)
    if text in ("", ":", "@:"):
        raise words.error("it is empty")
    by_time = text.startswith("@")
    start = words.position(default=Start())
    if words.at_end():
        return OffsetRange(start)
    words.skip_colon()
    if words.at_end():
        return OffsetRange(start)
    until = words.position(after=start, by_time=by_time)
    if not words.at_end():
        raise words.error(f"{words.rest()!r} is left over")
    if _is_backwards(start, until):
        raise words.error("it ends before it begins")
    return OffsetRange(start, until)


def _is_backwards(start: Position, until: Position) -> bool:
    """As far as can be told without a log."""
    match start, until:
        case Exact(first), Exact(last):
            return first > last
        case At(first), At(last):
            return first > last
    return False


def parse_position(text: str, *, now: datetime) -> Position:
    """Parse where a range is of no use: `group seek --to`, `topic trim --before`."""
    found = parse_offset_range(text, now=now)
    if found.until is not None:
        raise InvalidRequest(
            what=f"{text!r} is a range, but one position is needed",
            hint=f"write only its start, for example {text.partition(':')[0] or 'start'!r}",
        )
    return found.start


def resolve_offsets(
    position: Position,
    log: Mapping[Partition, tuple[int, int]],
    offsets_for_time: Callable[[int], Mapping[Partition, int]],
) -> dict[Partition, int]:
    """The offset per partition, kept inside each partition's (start, end).

    `offsets_for_time` gives the first offset at or after a timestamp; a partition without one is
    left out, and resolves to its end. An exact offset beyond the end stays: it is not there yet.
    """
    match position:
        case Start(distance):
            return {
                partition: min(start + distance, end) for partition, (start, end) in log.items()
            }
        case End(distance):
            return {
                partition: max(end - distance, start) for partition, (start, end) in log.items()
            }
        case Exact(offset):
            return {partition: max(offset, start) for partition, (start, _) in log.items()}
        case At(timestamp_ms):
            found = offsets_for_time(timestamp_ms)
            return {
                partition: max(found.get(partition, end), start)
                for partition, (start, end) in log.items()
            }


def resolve_range(
    offsets: OffsetRange,
    log: Mapping[Partition, tuple[int, int]],
    offsets_for_time: Callable[[int], Mapping[Partition, int]],
) -> dict[Partition, Bounds]:
    starts = resolve_offsets(offsets.start, log, offsets_for_time)
    if offsets.until is None:
        return {partition: Bounds(start) for partition, start in starts.items()}
    ends = resolve_offsets(offsets.until, log, offsets_for_time)
    return {partition: Bounds(start, ends[partition]) for partition, start in starts.items()}


_ENDS: dict[str, Position] = {
    "start": Start(),
    "end": End(),
    "earliest": Start(),
    "latest": End(),
}
_NUMBER = re.compile(r"[+-]?\d+")
_MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)?)?"
)
_TIME_OF_DAY = re.compile(r"(\d\d):(\d\d)(?::(\d\d))?(?!\d)")
_MILLISECONDS = re.compile(r"\d{13}(?![\dsmhdw])")
_SECONDS = re.compile(r"\d{9,10}(?![\dsmhdw])")
_DURATION = re.compile(r"(-?)((?:\d+(?:ms|[smhdw]))+)")
_DURATION_PART = re.compile(r"(\d+)(ms|[smhdw])")
_UNIT_MS = {
    "ms": 1,
    "s": 1000,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
}


class _Words:
    """A cursor over the text; every method consumes what it recognises."""

    def __init__(self, text: str, now: datetime) -> None:
        self._text = text
        self._now = now
        self._at = 0

    def at_end(self) -> bool:
        return self._at == len(self._text)

    def rest(self) -> str:
        return self._text[self._at :]

    def skip_colon(self) -> None:
        if not self.rest().startswith(":"):
            raise self.error(f"{self.rest()!r} is left over")
        self._at += 1

    def position(
        self,
        *,
        default: Position | None = None,
        after: Position | None = None,
        by_time: bool = False,
    ) -> Position:
        if self.rest().startswith(":") and default is not None:
            return default
        if self._takes("@"):
            if self.rest().startswith(":") and default is not None:
                return default
            return self._time(after)
        for word, position in _ENDS.items():
            if self._takes(word):
                return position
        # rpk writes the second time of a range without its @: @-2h:-1h, @2026-09-01:1h or @:-1h.
        if by_time:
            return self._time(after)
        return self._number()

    def _number(self) -> Position:
        found = self._match(_NUMBER)
        if found is None:
            raise self.error(f"{self.rest()!r} is not an offset")
        number = found[0]
        if number.startswith("+"):
            return Start(int(number))
        return End(-int(number)) if number.startswith("-") else Exact(int(number))

    def _time(self, after: Position | None) -> At:
        if found := self._match(_MOMENT):
            return At(self._moment(found[0]))
        if found := self._match(_TIME_OF_DAY):
            return At(self._time_of_day(found))
        if found := self._match(_MILLISECONDS):
            return At(int(found[0]))
        if found := self._match(_SECONDS):
            return At(int(found[0]) * 1000)
        if found := self._match(_DURATION):
            return At(self._relative(found, after))
        raise self.error(f"{self.rest()!r} is not a time")

    def _moment(self, text: str) -> int:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError as error:
            raise self.error(f"{text!r} is not a date") from error
        return milliseconds_of(moment if moment.tzinfo else moment.replace(tzinfo=self._now.tzinfo))

    def _time_of_day(self, found: re.Match[str]) -> int:
        try:
            today = self._now.replace(
                hour=int(found[1]), minute=int(found[2]), second=int(found[3] or 0), microsecond=0
            )
        except ValueError as error:
            raise self.error(f"{found[0]!r} is not a time of day") from error
        return milliseconds_of(today if today <= self._now else today - timedelta(days=1))

    def _relative(self, found: re.Match[str], after: Position | None) -> int:
        duration_ms = sum(
            int(amount) * _UNIT_MS[unit] for amount, unit in _DURATION_PART.findall(found[2])
        )
        if found[1]:
            return milliseconds_of(self._now) - duration_ms
        if isinstance(after, At):
            return after.timestamp_ms + duration_ms
        raise self.error(f"{found[0]!r} lies in the future: write -{found[0]} for that long ago")

    def _takes(self, word: str) -> bool:
        if not self.rest().startswith(word):
            return False
        self._at += len(word)
        return True

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._text, self._at)
        if found:
            self._at = found.end()
        return found

    def error(self, why: str) -> InvalidRequest:
        return InvalidRequest(
            what=f"{self._text!r} is not a position in a topic: {why}",
            hint="write start, end, 47, +2, -3, 10:20, :end, @-15m, @:-15m or @2026-09-01T10:00Z",
        )
