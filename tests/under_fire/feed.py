"""Events on their way into the log: several producers at once, never far ahead of who reads them."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pyarrow as pa
from confluent_kafka import KafkaError, Producer

from under_fire.events import Slice, accounts, slices

EVENTS: Final = "fire.events"
ACCOUNTS: Final = "fire.accounts"
PRODUCERS: Final = 4
AHEAD: Final = 1_000_000
WITHIN_S: Final = 300


class Feed(threading.Thread):
    """Sends slice after slice; all of one are stored before the next begins, so time hardly runs back."""

    def __init__(self, bootstrap: str, seed: int, count: int, read: Callable[[], int]) -> None:
        super().__init__(name="feed", daemon=True)
        self.sent = 0
        self.error: BaseException | None = None
        self._slices = slices(seed, count)
        self._accounts = dict(accounts(seed))
        self._read = read
        self._producers = [_Sender(bootstrap) for _ in range(PRODUCERS)]

    def run(self) -> None:
        try:
            with ThreadPoolExecutor(PRODUCERS) as pool:
                for each in self._slices:
                    while self.sent - self._read() > AHEAD:
                        time.sleep(0.2)
                    self._send(each, pool)
        except BaseException as error:  # noqa: BLE001 - told by who waits for us
            self.error = error

    def send_accounts(self, seed: int) -> None:
        """All of them are known before the first event is read."""
        self._producers[0].send(ACCOUNTS, [_account(*each, 0) for each in accounts(seed)])

    def _send(self, part: Slice, pool: ThreadPoolExecutor) -> None:
        """Each producer has its share; meanwhile accounts change in what nobody asks for."""
        size = -(-len(part.values) // PRODUCERS)
        shares = [slice(start, start + size) for start in range(0, len(part.values), size)]
        jobs = [
            pool.submit(sender.send, EVENTS, _messages(part.keys[share], part.values[share]))
            for sender, share in zip(self._producers, shares, strict=False)
        ]
        for each in jobs:
            each.result()
        visited = part.rows["account"].slice(0, 50).to_pylist()
        self._producers[0].send(
            ACCOUNTS, [_account(each, self._accounts[each], self.sent) for each in visited]
        )
        self.sent += len(part.values)


class _Sender:
    def __init__(self, bootstrap: str) -> None:
        self._failures: list[KafkaError] = []
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 20,
                "batch.num.messages": 20_000,
                "delivery.report.only.error": True,
                "delivery.timeout.ms": WITHIN_S * 1000,
                "log_level": 0,
            }
        )

    def send(self, topic: str, messages: list[dict[str, Any]]) -> None:
        """Return once all are stored, whatever happens to the broker meanwhile."""
        queued = self._producer.produce_batch(topic, messages, on_delivery=self._note)
        assert queued == len(messages), "the queue holds a whole slice"
        left = self._producer.flush(WITHIN_S)
        assert (left, self._failures) == (0, []), self._failures[:1]

    def _note(self, error: KafkaError | None, _: object) -> None:
        if error is not None:
            self._failures.append(error)


def _messages(keys: pa.Array, values: pa.Array) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": value}
        for key, value in zip(keys.to_pylist(), values.to_pylist(), strict=True)
    ]


def _account(number: int, region: str | None, visits: int) -> dict[str, Any]:
    value = f'{{"account":{number},"region":"{region}","visits":{visits}}}'
    return {"key": b"%d" % number, "value": None if region is None else value.encode()}
