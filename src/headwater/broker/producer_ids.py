"""Producer ids: never given twice, also across crashes, because a block is durable before its first use."""

import asyncio
from typing import Final

from headwater.broker.metadata_log import PRODUCER_IDS, MetadataLog

BLOCK: Final = 1000


class ProducerIds:
    """Hands out ids from the block that was reserved last."""

    def __init__(self, metadata: MetadataLog) -> None:
        self._metadata = metadata
        self._next = self._end = 0
        self._reserving = asyncio.Lock()

    async def allocate(self) -> int:
        async with self._reserving:
            if self._next == self._end:
                stored = self._metadata.get(PRODUCER_IDS) or {"next": 0}
                start = int(stored["next"])
                await self._metadata.write(PRODUCER_IDS, {"next": start + BLOCK})
                self._next, self._end = start, start + BLOCK
            allocated = self._next
            self._next += 1
            return allocated
