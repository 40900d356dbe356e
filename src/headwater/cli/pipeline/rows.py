"""How statuses look in tables."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headwater.streams.run.status import Status

LIST_COLUMNS = ("query", "state", "rows", "rows_per_second", "lag", "late", "dead", "restarts")


def list_row(status: "Status") -> dict[str, Any]:
    return {
        "query": status.name,
        "state": status.state,
        "rows": status.rows,
        "rows_per_second": round(status.rows_per_second, 1),
        "lag": status.lag,
        "late": status.late,
        "dead": status.dead,
        "restarts": status.restarts,
    }
