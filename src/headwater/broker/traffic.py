"""What is on its way to clients: counted, so that slow readers cannot take all the memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

LARGEST_ANSWER_BYTES: Final = 8 << 20
"""Half of it makes clients slower: glibc gives buffers of that size back to the system, again and again.
Larger answers are no faster, and while one is read and sent, others wait."""

SMALLEST_ANSWER_BYTES: Final = 64 << 10


@dataclass(slots=True)
class ApiCount:
    """Requests of one API since the start."""

    requests: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Traffic:
    """Counters of the whole broker; one event loop writes them."""

    fetch_memory_bytes: int
    connections: int = 0
    refused_connections: int = 0
    outstanding_bytes: int = 0
    """Answers that were built and not yet taken by their readers, and room for those being read."""
    received_bytes: int = 0
    sent_bytes: int = 0
    malformed_requests: int = 0
    apis: dict[str, ApiCount] = field(default_factory=dict)

    @contextmanager
    def room_for_fetch(self, wanted_bytes: int) -> Iterator[int]:
        """How large the next answer may be: small once readers leave too much untaken.

        The room is taken until the answer is read, so that answers read at the same time share it.
        """
        free = self.fetch_memory_bytes - self.outstanding_bytes
        room = max(SMALLEST_ANSWER_BYTES, min(LARGEST_ANSWER_BYTES, free))
        taken = min(wanted_bytes, room)
        self.outstanding_bytes += taken
        try:
            yield room
        finally:
            self.outstanding_bytes -= taken

    def count(self, api: str, seconds: float) -> None:
        counted = self.apis.get(api)
        if counted is None:
            counted = self.apis[api] = ApiCount()
        counted.requests += 1
        counted.seconds += seconds
