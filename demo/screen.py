"""What is going on, while it goes on: a table that redraws on a terminal, lines in a pipe."""

import contextlib
import threading
import time
from dataclasses import dataclass
from typing import Any, Final, Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table

import headwater as hw
from demo.branches import Branches, Ledger
from demo.progress import READS, Progress
from demo.readers import MEMBERS, Readers
from headwater.client import Views

QUERIES: Final = {
    "revenue per minute": "SELECT substr(minute, 12, 5) AS minute, total FROM revenue"
    " ORDER BY 1 DESC LIMIT 4",
    "top sellers": "SELECT product, sum(sold) AS sold FROM top_sellers GROUP BY 1"
    " ORDER BY 2 DESC LIMIT 4",
    "click-through": "SELECT phrase, clicks * 100 / searches AS percent FROM click_through"
    " ORDER BY 2 DESC, 1 LIMIT 4",
}
DRAW_S: Final = 0.5
LINE_S: Final = 3.0


@dataclass(frozen=True, slots=True)
class Sight:
    """Everything that there is to see."""

    branches: Branches
    ledger: Ledger
    readers: Readers
    progress: Progress
    views: Views


class Screen:
    """Looks and draws on a thread of its own, until left."""

    def __init__(self, console: Console, began_s: float) -> None:
        self._console = console
        self._began_s = began_s
        self._sight: Sight | None = None
        self._answers: dict[str, Any] = {}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def say(self, text: str) -> None:
        """One step of the story; it stays."""
        self._console.print(f"[bold]{self._elapsed():>6}[/]  {text}", highlight=False)

    def look_at(self, sight: Sight) -> None:
        self._sight = sight
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        assert self._sight is not None
        if not self._console.is_terminal:
            while not self._is_over.wait(LINE_S):
                self._ask(self._sight.views)
                self._console.print(self._line(self._sight), highlight=False, soft_wrap=True)
            return
        with Live(console=self._console, auto_refresh=False, transient=True) as live:
            while not self._is_over.wait(DRAW_S):
                self._ask(self._sight.views)
                live.update(self._picture(self._sight), refresh=True)

    def _ask(self, views: Views) -> None:
        """Over HTTP, as any reader would; before a view is there, and while it is away, the last answer."""
        for name, sql in QUERIES.items():
            with contextlib.suppress(hw.errors.HeadwaterError):
                self._answers[name] = views.query(sql, timeout_s=1).rows

    def _line(self, sight: Sight) -> str:
        lags = [f"{each.query} {_number(each.lag)}" for each in sight.progress.statuses.values()]
        facts = [
            f"shop time {sight.branches.now:%H:%M}",
            f"acknowledged {sight.ledger.acknowledged:,}",
            *(f"{each} read {sum(sight.readers.shares(each)):,}" for each in MEMBERS),
            f"lag: {', '.join(lags)}" if lags else "Spark is starting",
            *(f"{name}: {_short(rows)}" for name, rows in self._answers.items()),
        ]
        return f"{self._elapsed():>6}  " + " | ".join(facts)

    def _picture(self, sight: Sight) -> Group:
        readers = ", ".join(f"{each} read {sum(sight.readers.shares(each)):,}" for each in MEMBERS)
        queries = Table(
            title=f"{self._elapsed()}  in the shop it is {sight.branches.now:%H:%M}; "
            f"{len(sight.ledger.sent):,} events sent, {sight.ledger.acknowledged:,} acknowledged; "
            f"of the orders, {readers}",
            title_justify="left",
        )
        for column in ("query", "state", "rows", "rows/s", "lag", "late", "dead letters"):
            queries.add_column(column, justify="left" if column in ("query", "state") else "right")
        statuses = sight.progress.statuses
        for query in READS:
            each = statuses.get(query)
            if each is None:
                queries.add_row(query, "Spark is starting")
                continue
            numbers = (each.rows, round(each.rows_per_second), each.lag, each.late, each.dead)
            queries.add_row(query, each.state, *(_number(number) for number in numbers))
        return Group(queries, self._views_table())

    def _views_table(self) -> Table:
        table = Table(title="views, over HTTP", title_justify="left")
        for name in QUERIES:
            table.add_column(name)
        columns = [self._answers.get(name, ()) for name in QUERIES]
        for place in range(max(map(len, columns))):
            table.add_row(*(_cell(rows, place) for rows in columns))
        return table

    def _elapsed(self) -> str:
        return f"{time.monotonic() - self._began_s:.1f} s"


def _cell(rows: Any, place: int) -> str:
    return "  ".join(str(each) for each in rows[place]) if place < len(rows) else ""


def _short(rows: Any) -> str:
    return _cell(rows, 0) if rows else "-"


def _number(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"
