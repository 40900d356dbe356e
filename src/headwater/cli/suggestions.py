"""Names that do not exist: say which one was probably meant."""

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from headwater.errors import NotFound

if TYPE_CHECKING:
    from headwater.client import Client


def require_topic(client: "Client", topic: str, *, to_write: bool = False) -> None:
    create = f"create it with: headwater topic create {topic}" if to_write else ""
    _require("topic", topic, client.admin.topics.names(), create)


def require_partition(client: "Client", topic: str, partition: int) -> None:
    count = len(client.admin.topics.describe(topic).partitions)
    if partition >= count:
        raise NotFound(
            what=f"topic {topic!r} has no partition {partition}",
            hint=f"it has partitions 0 to {count - 1}",
        )


def require_group(client: "Client", group: str) -> None:
    _require("group", group, (found.group for found in client.admin.groups.list()))


def _require(kind: str, name: str, known: Iterable[str], otherwise: str = "") -> None:
    names = list(known)
    if name in names:
        return
    near = difflib.get_close_matches(name, names, n=1)
    raise NotFound(
        what=f"{kind} {name!r} does not exist",
        hint=f"did you mean {near[0]!r}?"
        if near
        else otherwise or f"see the {kind}s with: headwater {kind} list",
    )
