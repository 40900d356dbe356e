"""When a record was made, as text; a producer may have given it a time that no calendar has."""

from collections.abc import Callable
from datetime import datetime

from headwater.client.record import Record


def iso_time(record: Record) -> str:
    return _text(record, lambda moment: moment.isoformat(timespec="milliseconds"))


def time_of_day(record: Record) -> str:
    """On the clock of whoever reads."""
    return _text(record, lambda moment: moment.astimezone().strftime("%H:%M:%S.%f")[:-3])


def _text(record: Record, shown: Callable[[datetime], str]) -> str:
    try:
        return shown(record.timestamp)
    except (OverflowError, ValueError):
        return str(record.timestamp_ms)
