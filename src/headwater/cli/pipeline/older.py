"""Versions of queries that run no more and have left their checkpoints: only those tell of them."""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headwater.streams.run.checkpoints import Checkpoints
    from headwater.streams.run.status import Status


def older_versions(known: "Collection[Status]", checkpoints: "Checkpoints") -> "Iterator[Status]":
    """What such a version reads and fills, as far as it was written down."""
    from headwater.streams.run.status import Status  # noqa: PLC0415

    present = {(each.name, each.topic) for each in known}
    for pipeline in checkpoints.pipelines():
        for each in checkpoints.of_pipeline(pipeline):
            left = each.signature
            if left is None or (each.query, left.topic) in present:
                continue
            yield Status(
                pipeline=pipeline,
                query=each.query.removeprefix(f"{pipeline}."),
                kind="materialized view" if left.partitions else "table",
                state="older",
                location="",
                topic=left.topic,
                reads={topic: topic for topic in left.sources},
                at_ms=0,
            )
