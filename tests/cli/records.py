"""Records for tests that need no broker."""

from headwater.client import Record


def record(
    value: bytes | None = b'{"total":150,"name":"Ann","tags":["x","y"],"at":{"city":"Bern"}}',
    key: str | None = "7",
    headers: tuple[tuple[str, bytes | None], ...] = (("kind", b"new"),),
) -> Record:
    return Record(
        topic="orders",
        partition=2,
        offset=41,
        timestamp_ms=1_700_000_000_123,
        key=key,
        value=value,
        headers=headers,
        raw_value=value,
    )
