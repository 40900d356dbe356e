"""A partition as the broker sees it: a log that opens on first use, and the readers waiting for it."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from headwater.errors import NotFound, StorageFailed
from headwater.log.partition import PartitionLog
from headwater.log.recovery import Summary
from headwater.wire.error_codes import ErrorCode

logger = logging.getLogger(__name__)


class Partition:
    """One partition of one topic."""

    def __init__(
        self,
        topic: str,
        index: int,
        opener: Callable[[Summary | None], PartitionLog],
        summary: Summary | None,
    ) -> None:
        self.topic = topic
        self.index = index
        self._open = opener
        self._summary = summary
        self._log: PartitionLog | None = None
        self._is_refused = False
        self._users = 0
        self._was_used = False
        self._waiting: set[asyncio.Event] = set()

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.index}"

    @property
    def log(self) -> PartitionLog:
        """The log as it is now; it may be another one after waiting for anything (`kept_open`)."""
        self._was_used = True
        if self._log is None:
            try:
                self._log = self._open(self._summary)
            except OSError as error:
                raise self._refused(error) from error
        return self._log

    @contextmanager
    def kept_open(self) -> Iterator[PartitionLog]:
        """The log, for as long as it takes: for who changes it and waits in between."""
        self._users += 1
        try:
            yield self.log
        finally:
            self._users -= 1

    def opened(self) -> PartitionLog:
        """Open the log, on whatever thread; for recovery, before anybody else uses it."""
        return self.log

    @property
    def leader_epoch(self) -> int:
        """Known without opening the log, for Metadata."""
        if self._log is not None:
            return self._log.leader_epoch
        return self._summary.leader_epoch if self._summary is not None else 0

    @property
    def size_bytes(self) -> int:
        """Known without opening the log, for DescribeLogDirs."""
        if self._log is not None:
            return self._log.size_bytes
        return self._summary.size_bytes if self._summary is not None else 0

    @property
    def is_open(self) -> bool:
        return self._log is not None

    @property
    def has_waiting_readers(self) -> bool:
        return bool(self._waiting)

    @property
    def holds_nothing(self) -> bool:
        """Whether there is no record, as far as can be told without opening the log."""
        if self._log is not None:
            return not self._log.segments
        return self._summary is not None and not self._summary.segments

    def check_epoch(self, claimed: int) -> ErrorCode:
        """Compare the leader epoch a client believes in with ours; -1 claims nothing."""
        if claimed in (-1, self.log.leader_epoch):
            return ErrorCode.NONE
        is_old = claimed < self.log.leader_epoch
        return ErrorCode.FENCED_LEADER_EPOCH if is_old else ErrorCode.UNKNOWN_LEADER_EPOCH

    def rest(self) -> bool:
        """Close the log as at a clean stop, if nobody has used it since this was asked before.

        It opens again on its next use. Returns whether it is closed.
        """
        was_used, self._was_used = self._was_used or self._users > 0, False
        if self._log is None:
            return True
        if was_used or not self._log.is_at_rest:
            return False
        try:
            self._summary = self._log.close()
        except OSError:
            return False  # It can stay open; what fails is met by who writes.
        self._log.abandon("closed")
        self._log = None
        return True

    @property
    def is_known(self) -> bool:
        """Whether it was opened since the last crash, or there was none."""
        return self._log is not None or self._summary is not None

    def close(self) -> Summary | None:
        """Close the log; returns what the next start needs to know of it."""
        return self._summary if self._log is None else self._log.close()

    def _refused(self, error: OSError) -> StorageFailed:
        """Say it once: clients try again and again."""
        refused = StorageFailed(
            f"{self.name} could not be opened: {error.strerror or error}",
            hint="check the disk, and how many files may be open: ulimit -n",
        )
        if not self._is_refused:
            logger.error("%s", refused)
            self._is_refused = True
        return refused

    def abandon(self) -> None:
        """The topic is deleted: nobody opens its files any more, which may be another topic's by now.

        The topic is let go of, too: its files take up space until nobody holds them.
        """
        self.wake_readers()
        self._open = partial(_refuse_deleted, self.topic)
        if self._log is not None:
            self._log.abandon()

    def wake_readers(self) -> None:
        for each in self._waiting:
            each.set()

    def add_reader(self, event: asyncio.Event) -> None:
        self._waiting.add(event)

    def remove_reader(self, event: asyncio.Event) -> None:
        self._waiting.discard(event)


def _refuse_deleted(topic: str, _: Summary | None) -> PartitionLog:
    raise NotFound(f"topic {topic!r} was deleted")
