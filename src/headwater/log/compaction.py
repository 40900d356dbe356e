"""When a log is compacted, and how the result takes the place of what it replaces.

The replacement is durable under a name that says what it replaces (`<base>-<end>.swap`) before anything
is removed, so a crash at any point leaves either the old segments or the new one.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from headwater.log.aborted import aborted_between
from headwater.log.cleaner import Cleaned, CleanerJob
from headwater.log.names import Swap
from headwater.log.partition import PartitionLog
from headwater.log.recovery import put_in_place
from headwater.log.segment import Segment

MOST_OFFSETS: Final = 2_000_000
"""How many records may decide in one pass: the memory of a cleaner is bounded by their keys."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Sealed segments to rewrite into one."""

    job: CleanerJob
    segments: list[Segment]
    cleaned_to: int
    """Once done, everything below this offset is clean."""

    def job_after(self, earlier: Cleaned | None) -> CleanerJob:
        """Return the job, once the segments before these are clean: their transactions may end here."""
        return self.job if earlier is None else replace(self.job, unended=earlier.unended)


def plan(log: PartitionLog, now_ms: int) -> list[Plan]:
    """Return the rewrites that are worth doing now, in order; none if the log is clean enough.

    A log with very much to clean is cleaned in several passes, each a little further.
    """
    settings = log.settings
    if not settings.is_compacted or log.failure is not None:
        return []
    sealed = _cleanable(log, now_ms)
    dirty = [each for each in sealed if each.next_offset > log.state.cleaned_to]
    if not dirty or not _is_due(log, sealed, dirty, now_ms):
        return []
    dirty_from = max(log.state.cleaned_to, dirty[0].base_offset)
    dirty_to = min(dirty[-1].next_offset, dirty_from + MOST_OFFSETS)
    reached = [each for each in sealed if each.base_offset < dirty_to]
    return [
        Plan(_job(log, group, reached, (dirty_from, dirty_to), now_ms), group, dirty_to)
        for group in _grouped(reached, settings.segment_bytes)
    ]


def _cleanable(log: PartitionLog, now_ms: int) -> list[Segment]:
    """Return sealed segments below the last stable offset that are old enough."""
    found = []
    lag_ms = log.settings.min_compaction_lag_ms
    for each in log.segments[:-1]:
        is_recent = lag_ms > 0 and now_ms - each.newest_ms < lag_ms
        if each.next_offset > log.last_stable_offset or is_recent:
            break
        found.append(each)
    return found


def _is_due(log: PartitionLog, sealed: list[Segment], dirty: list[Segment], now_ms: int) -> bool:
    total = sum(each.size for each in sealed)
    ratio = sum(each.size for each in dirty) / total if total else 0.0
    oldest = min(each.first_timestamp for each in dirty)
    is_overdue = now_ms - oldest > log.settings.max_compaction_lag_ms
    return is_overdue or ratio > log.settings.min_cleanable_dirty_ratio


def _grouped(segments: list[Segment], segment_bytes: int) -> list[list[Segment]]:
    """Join neighbours as long as they fit one segment: compaction leaves few, full segments."""
    groups: list[list[Segment]] = []
    size = 0
    for each in segments:
        size += each.size
        is_near = bool(groups) and each.next_offset - groups[-1][0].base_offset < 2**31
        if is_near and size <= segment_bytes:
            groups[-1].append(each)
        else:
            groups.append([each])
            size = each.size
    return groups


def _job(
    log: PartitionLog,
    group: list[Segment],
    reached: list[Segment],
    dirty: tuple[int, int],
    now_ms: int,
) -> CleanerJob:
    dirty_from, dirty_to = dirty
    return CleanerJob(
        directory=str(log.directory),
        segments=[(each.base_offset, each.size) for each in group],
        # Only later records outdate a record, and earlier groups have been rewritten by then.
        dirty=[
            (each.base_offset, each.size)
            for each in reached
            if each.base_offset >= group[0].base_offset and each.next_offset > dirty_from
        ],
        dirty_from=dirty_from,
        dirty_to=dirty_to,
        now_ms=now_ms,
        delete_retention_ms=log.settings.delete_retention_ms,
        kept_producer_offsets=log.producers.last_offsets(),
        marker_epochs=log.producers.marker_epochs(),
        end_offset=group[-1].next_offset,
        aborted=[
            (each.producer_id, each.first_offset, each.last_offset)
            for each in aborted_between(log.segments, group[0].base_offset, reached[-1].next_offset)
        ],
    )


@dataclass(frozen=True, slots=True)
class Exchange:
    """The steps that put a cleaned segment in place; each may run on any thread."""

    log: PartitionLog
    plan: Plan
    swap: Swap
    cleaned: Path

    @classmethod
    def of(cls, log: PartitionLog, plan: Plan, cleaned: Cleaned) -> "Exchange":
        first, last = plan.segments[0], plan.segments[-1]
        swap = Swap(first.base_offset, last.next_offset)
        return cls(log, plan, swap, log.directory / cleaned.name)

    def commit(self) -> Segment:
        """Make the replacement durable under its swap name, and open it."""
        disk = self.log.disk
        path = self.log.directory / self.swap.name
        with self.log.files:
            disk.rename(self.cleaned, path)
            disk.sync_directory(self.log.directory)
            file = disk.open(path, create=False)
        segment = Segment(disk, self.log.directory, self.swap.base_offset)
        segment.is_sparse = True
        segment.take_over(file, self.plan.segments[-1])
        return segment

    def install(self, segment: Segment) -> bool:
        """Let readers see the new segment; False if the old ones are gone already. Loop thread only."""
        log, old = self.log, self.plan.segments
        start = bisect_left(log.segments, old[0].base_offset, key=lambda each: each.base_offset)
        if log.segments[start : start + len(old)] != old:
            return False
        for each in old:
            each.file.size()  # Opened now: a reader that holds it must not open the new file by name.
        log.segments = [*log.segments[:start], segment, *log.segments[start + len(old) :]]
        return True

    def finish(self, segment: Segment) -> None:
        """Remove what was replaced and give the new file its name.

        If that fails, the log stops: by its name one would find the old file, and take it for the new.
        """
        bases = [each.base_offset for each in self.plan.segments]
        with self.log.files:
            try:
                put_in_place(self.log.disk, self.log.directory, self.swap, bases)
            except OSError as error:
                raise self.log.fail(error) from error
            segment.write_indexes()

    def abandon(self) -> None:
        with self.log.files:
            self.log.disk.remove(self.log.directory / self.swap.name)


def mark_sparse(log: PartitionLog, plans: list[Plan]) -> None:
    """Remember where offsets may be missing from now on; `write_state` before the first exchange."""
    sparse_to = max(log.state.sparse_to, plans[-1].segments[-1].next_offset)
    log.state = replace(log.state, sparse_to=sparse_to)


def mark_clean(log: PartitionLog, plans: list[Plan]) -> None:
    """Remember how far the log is clean. Loop thread only; `write_state` keeps it."""
    log.state = replace(log.state, cleaned_to=plans[-1].cleaned_to)
