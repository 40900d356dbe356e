"""Where a store comes from: whether it can be kept up to date, or must be built again from the topic."""

from dataclasses import dataclass

from headwater.client.client import Client
from headwater.errors import Conflict
from headwater.followers.changes import Positions
from headwater.followers.store import Store
from headwater.views import View


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic as it is now."""

    id: str
    start: Positions
    end: Positions
    delete_retention_ms: int
    """How long a compacted topic remembers that a key was deleted."""


def look_up(client: Client, topic: str) -> TopicState:
    """Ask the broker; raises `NotFound` when there is no such topic."""
    found = client.admin.topics.describe(topic)
    configs = {each.name: each.value for each in found.configs}
    return TopicState(
        id=client.admin.topics.id(topic),
        start={each.partition: each.start_offset for each in found.partitions},
        end={each.partition: each.end_offset for each in found.partitions},
        delete_retention_ms=int(configs.get("delete.retention.ms") or 86_400_000),
    )


def is_same_content(one: View, other: View) -> bool:
    """Whether two definitions give the same table; only the words about it may differ."""
    return (one.topic, one.key, one.columns, one.version, one.indexes) == (
        other.topic,
        other.key,
        other.columns,
        other.version,
        other.indexes,
    )


def reason_to_rebuild(store: Store, view: View, topic: TopicState, now_ms: int) -> str:
    """Why this store cannot go on from where it is; empty if it can.

    Raises `Conflict` if no store can: a key may have moved to another partition, and its order is lost.
    """
    if not is_same_content(store.view, view):
        return f"the definition has changed (version {store.view.version} to {view.version})"
    if store.topic_id != topic.id:
        return "the topic was deleted and made anew"
    at = store.positions()
    if set(at) != set(topic.start):
        raise Conflict(
            f"topic {view.topic!r} has {len(topic.start)} partitions and had {len(at)}: the newest "
            "change of a key cannot be told any more",
            hint="write the view to a new topic, with another version of its definition",
        )
    if any(at[partition] > topic.end[partition] for partition in at):
        return "the topic ends before what was read from it"
    if any(at[partition] < topic.start[partition] for partition in at):
        return "records that were not read yet are gone from the topic"
    is_behind = any(at[partition] < topic.end[partition] for partition in at)
    if is_behind and now_ms - store.fresh_ms >= topic.delete_retention_ms:
        return "deletions that were not read yet may be gone from the topic (delete.retention.ms)"
    return ""
