"""Three producers and two consumer groups over one topic, and a broker that is killed in between.

Fan-out: each group reads every event. Load balancing: the two members of `billing` share the partitions.
Ends with a table and with exit code 1 unless nothing was lost and nothing doubled.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.table import Table

import headwater as hw
from demo.events import shop_events
from demo.scoreboard import Reader, Scoreboard

TOPIC = "shop.events"
PARTITIONS = 6
PRODUCERS = 3
EVENTS = int(os.environ.get("EVENTS", "300000"))
MEMBERS = {"billing": 2, "analytics": 1}
PATIENCE_S = 180.0

console = Console()


class BrokerProcess:
    """`headwater serve` as a user would start it."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self.address = "127.0.0.1:0"
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> float:
        """Start and return the seconds until clients can connect."""
        began = time.monotonic()
        command = ["serve", "--data", str(self._data), "--listen", self.address]
        command += ["--group-initial-rebalance-delay-ms", "500"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "headwater", *command, "--log-level", "error", "--json"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit("the broker did not start")
        self.address = line.split('"kafka":"')[1].split('"')[0]
        return time.monotonic() - began

    def kill(self) -> None:
        """SIGKILL: no goodbye, no last sync."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait()


def produce(producer: int, address: str, board: Scoreboard) -> None:
    count = EVENTS // PRODUCERS
    with hw.connect(address, timeout_s=PATIENCE_S) as client, client.producer() as sender:
        pending = []
        for key, event in shop_events(producer, count):
            pending.append((event["id"], sender.send(TOPIC, event, key=key)))
            board.produced += 1
            if len(pending) >= 5_000:
                collect(pending, board)
                pending = []
        collect(pending, board)


def collect(pending: list[tuple[str, object]], board: Scoreboard) -> None:
    """Wait for the acknowledgement of each event."""
    stored = []
    for event_id, delivery in pending:
        try:
            delivery.result()  # type: ignore[attr-defined]
            stored.append(event_id)
        except hw.errors.HeadwaterError as error:
            board.failed.append(str(error))
    with board.lock:
        board.acknowledged.update(stored)


def consume(reader: Reader, address: str) -> None:
    with (
        hw.connect(address, timeout_s=PATIENCE_S) as client,
        client.consumer(TOPIC, group=reader.group, start="start") as records,
    ):
        reader.consumer = records
        for batch in records.batches(max_records=2_000, max_wait_s=0.2):
            for record in batch:
                reader.seen[record.value["id"]] += 1
            reader.count += len(batch)


def screen(board: Scoreboard, note: str) -> Table:
    table = Table(title=f"shop.events  {note}", title_justify="left")
    table.add_column("")
    table.add_column("events", justify="right")
    table.add_row("produced", f"{board.produced:,}")
    table.add_row("acknowledged", f"{len(board.acknowledged):,}")
    for each in board.readers:
        table.add_row(f"read by {each.group}/{each.name}", f"{each.count:,}")
    return table


def run(broker: BrokerProcess, board: Scoreboard) -> None:
    seconds = broker.start()
    console.print(f"broker at {broker.address}, ready after {seconds:.2f} s")
    with hw.connect(broker.address) as client:
        client.admin.topics.create(TOPIC, partitions=PARTITIONS)
    board.readers = [
        Reader(group, f"member-{number + 1}")
        for group, members in MEMBERS.items()
        for number in range(members)
    ]
    producers = [
        threading.Thread(target=produce, args=(number, broker.address, board), daemon=True)
        for number in range(PRODUCERS)
    ]
    consumers = [
        threading.Thread(target=consume, args=(each, broker.address), daemon=True)
        for each in board.readers
    ]
    for each in consumers:
        each.start()
    wait_for_members(board)
    for each in producers:
        each.start()
    watch(broker, board, producers)


def wait_for_members(board: Scoreboard) -> None:
    """Return once every member has its share of the partitions."""
    with console.status("groups are forming"):
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if all(each.partitions for each in board.readers):
                return
            time.sleep(0.05)


def watch(broker: BrokerProcess, board: Scoreboard, producers: list[threading.Thread]) -> None:
    """Show progress, kill the broker half-way, and return once everybody has read everything."""
    deadline = time.monotonic() + PATIENCE_S
    was_killed = False
    note = "running"
    with Live(screen(board, note), console=console, refresh_per_second=8) as live:
        while time.monotonic() < deadline:
            if not was_killed and len(board.acknowledged) > EVENTS * 0.4:
                broker.kill()
                seconds = broker.start()
                was_killed = True
                note = f"killed with SIGKILL, back after {seconds:.2f} s"
            live.update(screen(board, note))
            is_sent = not any(each.is_alive() for each in producers)
            if is_sent and all(
                board.count_of(group) >= len(board.acknowledged) for group in MEMBERS
            ):
                return
            time.sleep(0.1)


def verdict(board: Scoreboard) -> bool:
    """Print the table; True if it is perfect."""
    table = Table(title="What was acknowledged, and what each group read", title_justify="left")
    for column in ("", "events", "lost", "duplicated"):
        table.add_column(column, justify="left" if not column else "right")
    table.add_row("produced", f"{board.produced:,}", "", "")
    table.add_row("acknowledged", f"{len(board.acknowledged):,}", "", "")
    is_perfect = not board.failed and len(board.acknowledged) == board.produced
    for group in MEMBERS:
        seen = board.seen_by(group)
        lost = len(board.acknowledged - seen.keys())
        doubled = sum(seen.values()) - len(seen)
        shares = [each.count for each in board.readers if each.group == group]
        balanced = all(shares)
        table.add_row(
            f"consumed by {group} ({' + '.join(f'{each:,}' for each in shares)})",
            f"{len(seen):,}",
            str(lost),
            str(doubled),
        )
        is_perfect = is_perfect and lost == 0 and doubled == 0 and balanced
    console.print(table)
    for each in board.failed[:3]:
        console.print(f"[red]not delivered: {each}")
    return is_perfect


def main() -> int:
    board = Scoreboard()
    with tempfile.TemporaryDirectory(prefix="headwater-demo-") as directory:
        broker = BrokerProcess(Path(directory))
        try:
            run(broker, board)
        finally:
            with contextlib.suppress(OSError):
                broker.stop()
    if verdict(board):
        console.print("[green]perfect: nothing lost, nothing doubled, through a kill -9")
        return 0
    console.print("[red]not perfect: this is a bug, please report it with the table above")
    return 1


if __name__ == "__main__":
    sys.exit(main())
