"""Which segments are too old or too much. The last stable offset is never passed."""

from headwater.log.partition import PartitionLog
from headwater.log.removal import Removal
from headwater.log.segment import Segment
from headwater.log.settings import UNLIMITED


def expire(log: PartitionLog, now_ms: int) -> Removal | None:
    """Take expired segments out of the log; returns what is left to do on disk, if anything."""
    if not log.settings.is_deleted or not log.segments or log.failure is not None:
        return None
    doomed = _too_old(log, now_ms)
    doomed += _too_much(log, log.segments[len(doomed) :])
    if not doomed and not log.has_unremoved:
        return None
    if doomed and doomed[-1] is log.active:
        log.roll(now_ms)
    return log.remove(doomed)


def _too_old(log: PartitionLog, now_ms: int) -> list[Segment]:
    if log.settings.retention_ms == UNLIMITED:
        return []
    doomed = []
    for segment in log.segments:
        is_gone = segment.next_offset <= log.log_start_offset and segment is not log.active
        is_old = segment.size > 0 and now_ms - segment.newest_ms > log.settings.retention_ms
        if not (is_gone or is_old) or segment.next_offset > log.last_stable_offset:
            break
        doomed.append(segment)
    return doomed


def _too_much(log: PartitionLog, kept: list[Segment]) -> list[Segment]:
    if log.settings.retention_bytes == UNLIMITED:
        return []
    excess = sum(each.size for each in kept) - log.settings.retention_bytes
    doomed = []
    for segment in kept:
        if (
            excess < segment.size
            or segment.size == 0
            or segment.next_offset > log.last_stable_offset
        ):
            break
        excess -= segment.size
        doomed.append(segment)
    return doomed
