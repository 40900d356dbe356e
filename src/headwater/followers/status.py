"""How a follower is doing."""

from dataclasses import dataclass
from typing import Literal

from headwater.followers.changes import Positions

State = Literal["starting", "building", "following", "paused", "waiting", "failed"]
"""`waiting`: goes on by itself once the reason is gone. `failed`: tries again, but somebody should look."""


@dataclass(frozen=True, slots=True)
class Status:
    state: State
    reason: str = ""
    """Why it waits, failed, or is being built again."""
    as_of: Positions | None = None
    """What is served is true of these positions; None: nothing is served yet."""
    lag_records: int | None = None
    """Offsets between what is served and the end of the topic, as far as it is known."""
    lag_seconds: float | None = None
    """How long ago what is served equalled the end of the topic; 0 while it does."""
    rejected: int = 0
    """Records in the dead-letter topic."""
