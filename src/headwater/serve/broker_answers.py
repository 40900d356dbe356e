"""Questions to the broker, each put once for all who want to know the same.

They have threads of their own: while a broker does not answer, only those wait who need it.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from headwater.client.admin.topics import TopicIdentity
from headwater.client.client import Client
from headwater.followers.changes import Positions
from headwater.serve.shared_work import FreshAnswers, SharedWork
from headwater.serve.threads import Threads

ASK_GROUP_S: Final = 0.05
"""Nobody tells when a group goes on; it is asked that often, and not more often for many."""


class BrokerAnswers:
    """Every answer is newer than the question, but for that of `committed`: groups only go on."""

    def __init__(self, client: Client, threads: Threads) -> None:
        self._admin = client.admin
        self._threads = threads
        self._groups: SharedWork[Mapping[tuple[str, int], int]] = SharedWork()
        self._group_asked_s: dict[str, float] = {}
        self._identities: FreshAnswers[TopicIdentity] = FreshAnswers()
        self._ends: FreshAnswers[Positions] = FreshAnswers()
        self._log_ends: FreshAnswers[Positions] = FreshAnswers()

    async def committed(self, group: str) -> Mapping[tuple[str, int], int]:
        """Where a group stands; soon, if that was asked just now."""
        return await self._groups.do(group, lambda: self._ask_group(group))

    async def identity(self, topic: str) -> TopicIdentity:
        """Raises `NotFound`."""
        ask = self._admin.topics.identity
        return await self._identities.ask(topic, lambda: self._threads.run(ask, topic))

    async def ends(self, topic: str, partitions: list[int]) -> Positions:
        """Where partitions end for a reader of committed records."""
        name = (topic, *partitions)
        ask = self._admin.topics.ends
        return await self._ends.ask(name, lambda: self._threads.run(ask, topic, partitions))

    async def log_ends(self, topic: str) -> Positions:
        """Where all partitions end, counting what is not committed yet.

        The outcome of a transaction is decided before its end is in every partition. Who must not overlook
        its records waits for all that were written, not only for those that a reader could see just then.
        """
        ask = self._ends_of_all
        return await self._log_ends.ask(topic, lambda: self._threads.run(ask, topic))

    def _ends_of_all(self, topic: str) -> Positions:
        topics = self._admin.topics
        return topics.ends(topic, range(topics.identity(topic).partitions), uncommitted=True)

    async def _ask_group(self, group: str) -> Mapping[tuple[str, int], int]:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self._group_asked_s.get(group, 0.0) + ASK_GROUP_S - loop.time())
        try:
            return await self._threads.run(self._admin.groups.committed, group)
        finally:
            self._group_asked_s[group] = loop.time()
