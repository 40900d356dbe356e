"""Questions of many, put once."""

import asyncio
from collections.abc import Callable

from headwater.serve.shared_work import FreshAnswers, SharedWork


class Source:
    """Answers with the number of the question, once it is let."""

    def __init__(self) -> None:
        self.begun = 0
        self.asked: asyncio.Queue[int] = asyncio.Queue()
        self.may_answer = asyncio.Event()

    async def answer(self) -> int:
        self.begun += 1
        number = self.begun
        self.asked.put_nowait(number)
        await self.may_answer.wait()
        return number


def test_what_many_ask_for_at_the_same_time_is_done_once() -> None:
    async def ask() -> None:
        shared, source = SharedWork[int](), Source()
        waiting = [asyncio.create_task(shared.do("a", source.answer)) for _ in range(5)]
        await source.asked.get()
        waiting[0].cancel()  # it was the first to ask: the others have the answer all the same
        source.may_answer.set()
        assert await asyncio.gather(*waiting[1:]) == [1] * 4
        assert await shared.do("a", source.answer) == 2

    asyncio.run(ask())


def test_an_answer_to_a_question_of_before_is_not_taken_for_a_fresh_one() -> None:
    async def ask() -> None:
        fresh, source = FreshAnswers[int](), Source()
        first = [asyncio.create_task(fresh.ask("a", source.answer)) for _ in range(3)]
        await source.asked.get()
        later = [asyncio.create_task(fresh.ask("a", source.answer)) for _ in range(3)]
        other = asyncio.create_task(fresh.ask("b", source.answer))
        await source.asked.get()
        source.may_answer.set()
        assert await asyncio.gather(*first) == [1] * 3
        assert await other == 2
        assert await asyncio.gather(*later) == [3] * 3

    asyncio.run(ask())


def test_a_failure_is_told_to_all_and_not_kept() -> None:
    async def fail() -> int:
        raise ValueError("no")

    async def ask(kind: Callable[[], SharedWork[int] | FreshAnswers[int]]) -> None:
        shared = kind()
        do = shared.do if isinstance(shared, SharedWork) else shared.ask
        answers = await asyncio.gather(do("a", fail), do("a", fail), return_exceptions=True)
        assert [str(each) for each in answers] == ["no"] * 2
        source = Source()
        source.may_answer.set()
        assert await do("a", source.answer) == 1

    asyncio.run(ask(SharedWork[int]))
    asyncio.run(ask(FreshAnswers[int]))
