"""Prometheus metrics in the text format, over a minimal HTTP answer on a port of its own."""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from headwater.broker.listening import cannot
from headwater.broker.transactions.transaction import TransactionState
from headwater.config import join_address, split_address

if TYPE_CHECKING:
    from headwater.broker.broker import Broker

LARGEST_REQUEST_BYTES = 8192
REQUEST_TIMEOUT_S = 5.0


def render(broker: "Broker") -> str:
    """Return every metric, in the exposition format."""
    return "\n".join(_lines(broker)) + "\n"


def _lines(broker: "Broker") -> Iterator[str]:
    traffic = broker.traffic
    yield from _metric("connections", "gauge", "open client connections", traffic.connections)
    yield from _metric(
        "refused_connections_total", "counter", "over the limit", traffic.refused_connections
    )
    yield from _metric(
        "malformed_requests_total", "counter", "not Kafka's protocol", traffic.malformed_requests
    )
    yield from _metric("received_bytes_total", "counter", "from clients", traffic.received_bytes)
    yield from _metric("sent_bytes_total", "counter", "to clients", traffic.sent_bytes)
    yield from _metric(
        "outstanding_bytes", "gauge", "answers not yet taken", traffic.outstanding_bytes
    )
    yield from _metric(
        "syncs_total", "counter", "group commits since start", broker.committer.syncs
    )
    yield from _metric(
        "sync_last_seconds", "gauge", "duration of the last one", broker.committer.last_sync_s
    )
    yield from _metric("topics", "gauge", "topics", len(broker.topics))
    ongoing = sum(each.state is TransactionState.ONGOING for each in broker.transactions)
    yield from _metric("transactions_ongoing", "gauge", "transactions begun, not ended", ongoing)
    yield from _labelled(
        "requests_total",
        "counter",
        "requests by API",
        [({"api": name}, each.requests) for name, each in traffic.apis.items()],
    )
    yield from _labelled(
        "request_seconds_total",
        "counter",
        "time from arrival to answer by API",
        [({"api": name}, round(each.seconds, 6)) for name, each in traffic.apis.items()],
    )
    opened = [each for topic in broker.topics for each in topic.partitions if each.is_open]
    for name, meaning, read in (
        ("log_end_offset", "next offset to be written", lambda log: log.next_offset),
        ("log_high_watermark", "offset up to which readers see", lambda log: log.high_watermark),
        ("log_start_offset", "first offset", lambda log: log.log_start_offset),
        (
            "log_last_stable_offset",
            "offset up to which read_committed readers see",
            lambda log: log.last_stable_offset,
        ),
        ("log_size_bytes", "bytes in segments", lambda log: log.size_bytes),
        ("log_failed", "1 after a disk error", lambda log: int(log.failure is not None)),
    ):
        values = [
            ({"topic": each.topic, "partition": str(each.index)}, read(each.log)) for each in opened
        ]
        yield from _labelled(name, "gauge", meaning, values)


def _metric(name: str, kind: str, meaning: str, value: float) -> Iterator[str]:
    yield from _labelled(name, kind, meaning, [({}, value)])


def _labelled(
    name: str, kind: str, meaning: str, values: list[tuple[dict[str, str], float]]
) -> Iterator[str]:
    yield f"# HELP headwater_{name} {meaning}"
    yield f"# TYPE headwater_{name} {kind}"
    for labels, value in values:
        shown = ",".join(f'{key}="{each}"' for key, each in labels.items())
        yield f"headwater_{name}{{{shown}}} {value}" if shown else f"headwater_{name} {value}"


class MetricsServer:
    """Answers GET /metrics and nothing else."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._listener: asyncio.Server | None = None

    async def start(self, address: str) -> None:
        host, port = split_address(address, "metrics")
        try:
            self._listener = await asyncio.start_server(self._answer, host, port)
        except OSError as error:
            raise cannot("serve metrics", "metrics", address, error) from error

    @property
    def address(self) -> str:
        """Where it listens; empty if it does not."""
        if self._listener is None:
            return ""
        return join_address(*self._listener.sockets[0].getsockname()[:2])

    async def stop(self) -> None:
        if self._listener is not None:
            self._listener.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), REQUEST_TIMEOUT_S)
            is_metrics = head.startswith((b"GET /metrics ", b"GET /metrics?"))
            body = render(self._broker).encode() if is_metrics else b"see /metrics\n"
            status = b"200 OK" if is_metrics else b"404 Not Found"
            writer.write(
                b"HTTP/1.1 " + status + b"\r\nContent-Type: text/plain; version=0.0.4\r\n"
                b"Connection: close\r\nContent-Length: " + str(len(body)).encode() + b"\r\n\r\n"
            )
            writer.write(body)
            await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # The scraper went away or never spoke HTTP.
        except asyncio.CancelledError:
            pass  # The broker ends; asyncio would report this as an error.
        finally:
            writer.close()
