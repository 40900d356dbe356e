"""A row of a view as JSON: what the client has made Python of, back in the form of the contract."""

from collections.abc import Mapping
from typing import Any

from headwater.client.record_json import as_json
from headwater.views import View


def json_row(view: View, row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: view.by_name[name].type.canonical(value) for name, value in row.items()}


def shown(value: Any) -> Any:
    """A value for a table: nested ones as JSON, and numbers with all their digits."""
    return as_json(value) if isinstance(value, dict | list | float) else value
