"""The offset grammar: every form that rpk has, ours by time of day, and what is refused."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.client.offset_range import (
    At,
    Bounds,
    End,
    Exact,
    OffsetRange,
    Start,
    parse_offset_range,
    parse_position,
    resolve_offsets,
    resolve_range,
)
from headwater.errors import InvalidRequest

NOW = datetime(2026, 9, 1, 12, 0, 0, tzinfo=UTC)


def ms(*fields: int) -> int:
    return int(datetime(*fields, tzinfo=UTC).timestamp() * 1000)  # type: ignore[arg-type, misc]


NOW_MS = ms(2026, 9, 1, 12)
MINUTE, HOUR = 60_000, 3_600_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("start", OffsetRange(Start())),
        ("end", OffsetRange(End())),
        ("47", OffsetRange(Exact(47))),
        ("0", OffsetRange(Exact(0))),
        ("47:", OffsetRange(Exact(47))),
        ("+2", OffsetRange(Start(2))),
        ("-3", OffsetRange(End(3))),
        ("10:20", OffsetRange(Exact(10), Exact(20))),
        (":20", OffsetRange(Start(), Exact(20))),
        (":end", OffsetRange(Start(), End())),
        ("start:end", OffsetRange(Start(), End())),
        ("-100:end", OffsetRange(End(100), End())),
        ("-3:-1", OffsetRange(End(3), End(1))),
        ("+2:+5", OffsetRange(Start(2), Start(5))),
        ("47:end", OffsetRange(Exact(47), End())),
        ("@1644796800000", OffsetRange(At(1644796800000))),
        ("@1644796800000:", OffsetRange(At(1644796800000))),
        ("@1644796800", OffsetRange(At(1644796800000))),
        ("@644796800", OffsetRange(At(644796800000))),
        ("@-15m", OffsetRange(At(NOW_MS - 15 * MINUTE))),
        ("@-1h30m", OffsetRange(At(NOW_MS - 90 * MINUTE))),
        ("@-250ms", OffsetRange(At(NOW_MS - 250))),
        ("@-2d", OffsetRange(At(NOW_MS - 48 * HOUR))),
        ("@-1w", OffsetRange(At(NOW_MS - 168 * HOUR))),
        ("@09:00", OffsetRange(At(ms(2026, 9, 1, 9)))),
        ("@09:00:30", OffsetRange(At(ms(2026, 9, 1, 9, 0, 30)))),
        ("@23:00", OffsetRange(At(ms(2026, 8, 31, 23)))),
        ("@2026-09-01", OffsetRange(At(ms(2026, 9, 1)))),
        ("@2026-09-01T10:00Z", OffsetRange(At(ms(2026, 9, 1, 10)))),
        ("@2026-09-01T10:00:05Z", OffsetRange(At(ms(2026, 9, 1, 10, 0, 5)))),
        ("@2026-09-01T10:00:05.250Z", OffsetRange(At(ms(2026, 9, 1, 10, 0, 5) + 250))),
        ("@2026-09-01T10:00+02:00", OffsetRange(At(ms(2026, 9, 1, 8)))),
        ("@2026-09-01T10:00", OffsetRange(At(ms(2026, 9, 1, 10)))),
        ("@-1h:@-30m", OffsetRange(At(NOW_MS - HOUR), At(NOW_MS - 30 * MINUTE))),
        ("@-1h:-30m", OffsetRange(At(NOW_MS - HOUR), At(NOW_MS - 30 * MINUTE))),
        ("@-1h:end", OffsetRange(At(NOW_MS - HOUR), End())),
        ("@09:00:@10:00", OffsetRange(At(ms(2026, 9, 1, 9)), At(ms(2026, 9, 1, 10)))),
        ("@2026-09-01:1h", OffsetRange(At(ms(2026, 9, 1)), At(ms(2026, 9, 1, 1)))),
        (
            "@2026-09-01T10:00Z:@2026-09-01T11:00Z",
            OffsetRange(At(ms(2026, 9, 1, 10)), At(ms(2026, 9, 1, 11))),
        ),
        ("@:@-5m", OffsetRange(Start(), At(NOW_MS - 5 * MINUTE))),
        ("@:-5m", OffsetRange(Start(), At(NOW_MS - 5 * MINUTE))),
        ("@:2026-09-01", OffsetRange(Start(), At(ms(2026, 9, 1)))),
        ("@:2026-09-01T10:00:05Z", OffsetRange(Start(), At(ms(2026, 9, 1, 10, 0, 5)))),
        ("@:1644796800000", OffsetRange(Start(), At(1644796800000))),
        ("@:end", OffsetRange(Start(), End())),
        (":@-5m", OffsetRange(Start(), At(NOW_MS - 5 * MINUTE))),
        ("earliest:latest", OffsetRange(Start(), End())),
        ("47:@-5m", OffsetRange(Exact(47), At(NOW_MS - 5 * MINUTE))),
    ],
)
def test_every_form_of_the_grammar(text: str, expected: OffsetRange) -> None:
    assert parse_offset_range(text, now=NOW) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", ":", "x", "4.5", "1e3", "start end", "starting", " 47", "10:20:30", "10-20"),
        *("@", "@x", "@5m", "@25:00", "@2026-13-01", "@-5", "--3", "++2", "@-1h:x", "end:xyz"),
        *("@:", "@:47", "@:5m", "@:x", "20:10", "@-30m:@-1h", "@2026-09-01:@2026-08-01"),
    ],
)
def test_what_is_not_in_the_grammar_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_offset_range(text, now=NOW)
    assert repr(text) in refused.value.what
    assert refused.value.hint


def test_a_time_without_a_zone_is_in_the_zone_of_now() -> None:
    now = NOW.astimezone(timezone(timedelta(hours=2)))
    assert parse_offset_range("@10:00", now=now).start == At(ms(2026, 9, 1, 8))
    assert parse_offset_range("@2026-09-01", now=now).start == At(ms(2026, 8, 31, 22))


def test_a_range_is_refused_where_one_position_is_needed() -> None:
    assert parse_position("@-1h", now=NOW) == At(NOW_MS - HOUR)
    with pytest.raises(InvalidRequest, match="is a range"):
        parse_position("10:20", now=NOW)


@given(st.text(max_size=30))
def test_any_text_parses_or_is_refused(text: str) -> None:
    with suppress(InvalidRequest):
        assert isinstance(parse_offset_range(text, now=NOW), OffsetRange)


LOG = {0: (10, 100), 1: (0, 0), 2: (50, 60)}


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        (Start(), {0: 10, 1: 0, 2: 50}),
        (Start(20), {0: 30, 1: 0, 2: 60}),
        (End(), {0: 100, 1: 0, 2: 60}),
        (End(20), {0: 80, 1: 0, 2: 50}),
        (Exact(5), {0: 10, 1: 5, 2: 50}),
        (Exact(55), {0: 55, 1: 55, 2: 55}),
        (At(7), {0: 42, 1: 0, 2: 60}),
    ],
)
def test_positions_resolve_inside_the_log(position: object, expected: dict[int, int]) -> None:
    # Only partition 0 has a record at or after the time.
    assert resolve_offsets(position, LOG, lambda _: {0: 42}) == expected  # type: ignore[arg-type]


def test_a_range_resolves_both_ends() -> None:
    found = resolve_range(OffsetRange(Exact(20), End()), LOG, lambda _: {})
    assert found == {0: Bounds(20, 100), 1: Bounds(20, 0), 2: Bounds(50, 60)}
    assert resolve_range(OffsetRange(End()), LOG, lambda _: {})[0] == Bounds(100, None)
