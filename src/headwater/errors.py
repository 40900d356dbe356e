"""Every exception of Headwater: one tree, by what the caller can do about it, not by where it came from.

Each error says what happened (`what`) and what to do next (`hint`); `str()` is both in one line.
"""

from collections.abc import Sequence
from typing import ClassVar


class HeadwaterError(Exception):
    """The root: catch this to catch everything Headwater raises."""

    retriable: ClassVar[bool] = False
    """Whether the same call, unchanged, may succeed later."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what} (hint: {self.hint})" if self.hint else self.what


class NotFound(HeadwaterError):
    """The named thing does not exist."""


class Conflict(HeadwaterError):
    """The request is well formed, but the present state forbids it."""


class InvalidRequest(HeadwaterError):
    """The request itself is wrong; sending it again will not help."""


class Unavailable(HeadwaterError):
    """Not now: retry."""

    retriable = True


class TimedOut(Unavailable):
    """It was not done within the time that was given; it may be later."""


class Unauthorized(HeadwaterError):
    """Who asks has not shown that they may."""


class Corruption(HeadwaterError):
    """Bytes on disk or on the wire fail their checksum: stop and look."""


class Fenced(HeadwaterError):
    """A newer owner of the same identity exists; this one must stop."""


class CoordinatorFenced(Fenced):
    """A newer coordinator has taken over the transactions of this producer."""


class Superseded(Fenced):
    """A newer connection of the same client has taken over; what comes on this one is late."""


class NotSupported(HeadwaterError):
    """A correct request for something this build does not do."""


class OffsetOutOfRange(NotFound):
    """The offset lies before the start or after the end of the partition."""


class UnknownProducer(NotFound):
    """The log holds no state for this producer id."""


class OutOfOrderSequence(Conflict):
    """An idempotent producer's batch does not follow its last one: a batch in between is missing."""


class RecordTooLarge(InvalidRequest):
    """A batch exceeds `max.message.bytes`."""


class InvalidRecord(InvalidRequest):
    """A batch passes its checksum but breaks a rule of its topic."""

    def __init__(self, what: str, hint: str = "", *, indexes: Sequence[int] = ()) -> None:
        super().__init__(what, hint)
        self.indexes = indexes
        """Positions of the offending records in the batch, where single ones are to blame."""


class InvalidTransaction(Conflict):
    """The batch belongs to a transaction that is not open here."""


class OutsideTransaction(InvalidTransaction):
    """A transactional batch comes without a transactional id."""


class UnsupportedCodec(InvalidRequest):
    """A compression codec that this version of the request does not know."""


class InvalidTimestamp(InvalidRecord):
    """A record's time lies further from the broker's clock than its topic allows."""


class StorageFailed(Unavailable):
    """A write or a sync failed: the partition takes no more writes until the broker restarts."""


class UnreadableValue(InvalidRequest):
    """A record's value is not in the format that its reader asked for."""
