"""`connect()`: one object from which to send, read and administer."""

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from confluent_kafka.admin import AdminClient

from headwater.client.address import find_address, refuse_if_unreachable
from headwater.client.admin import Admin
from headwater.client.assignment import Reading
from headwater.client.connection import Connection, Options
from headwater.client.consumer import Consumer
from headwater.client.decoder import OnBad
from headwater.client.kafka_errors import translated
from headwater.client.local_time import local_now
from headwater.client.log_offsets import LogOffsets
from headwater.client.offset_range import OffsetRange, parse_offset_range, parse_position
from headwater.client.producer import Producer
from headwater.client.record import Headers, Receipt
from headwater.client.value_format import FormatName
from headwater.clock import Clock, SystemClock
from headwater.errors import HeadwaterError, InvalidRequest

if TYPE_CHECKING:
    from headwater.client.view import ServedView, Views

Opened = TypeVar("Opened", Producer, Consumer)


def connect(
    address: str | None = None,
    *,
    timeout_s: float = 10.0,
    options: Options | None = None,
    views: str | None = None,
    clock: Clock | None = None,
) -> "Client":
    """Connect to the broker of this folder, or to the one at `address`.

    `address` is "host:port" or "kafka://host:port,host2:port". Without one: HEADWATER_BOOTSTRAP, then
    the broker of this folder or a parent (`.headwater/broker.json`), then localhost:9092.
    `timeout_s` bounds every wait for the broker; `options` are librdkafka's, as for security.
    `views` is the address of the server of views; without one: HEADWATER_VIEWS_URL, then the server
    of this folder, then http://127.0.0.1:9090. Its token comes from HEADWATER_VIEWS_TOKEN.
    Raises Unavailable when nothing listens there.

        with hw.connect() as client:
            client.send("orders", {"id": 7, "total": 12.5}, key="7")
            with client.consumer("orders", group="billing") as orders:
                for record in orders:              # committed after the body returns
                    charge(record.value)
    """
    client = client_for(address, timeout_s=timeout_s, options=options, views=views, clock=clock)
    refuse_if_unreachable(client.connection.address)
    return client


def client_for(
    address: str | None = None,
    *,
    timeout_s: float = 10.0,
    options: Options | None = None,
    views: str | None = None,
    clock: Clock | None = None,
) -> "Client":
    """As `connect`, for a broker that need not be there yet."""
    connection = Connection(find_address(address), timeout_s, dict(options or {}))
    return Client(connection, clock or SystemClock(), views)


class Client:
    """A connection to a broker; leaving its with-block closes what it opened."""

    def __init__(self, connection: Connection, clock: Clock, views: str | None = None) -> None:
        self.connection = connection
        self._views_address = views
        self._clock = clock
        self._opened: list[Producer | Consumer] = []
        self.is_closed = False

    @cached_property
    def admin(self) -> Admin:
        """Topics and groups: `client.admin.topics`, `client.admin.groups`."""
        return Admin(self.connection, self._kafka, self._log, self._clock)

    def send(
        self,
        topic: str,
        value: Any,
        *,
        key: str | bytes | None = None,
        headers: Headers | None = None,
        timestamp: datetime | int | None = None,
        partition: int | None = None,
    ) -> Receipt:
        """Store one JSON value and wait until it is durable; None is a tombstone.

        For many records, or for bytes, use `producer()`: it batches.
        """
        delivery = self._sender.send(
            topic, value, key=key, headers=headers, timestamp=timestamp, partition=partition
        )
        return delivery.result()

    def producer(
        self,
        *,
        value_format: FormatName = "json",
        linger_ms: float = 5,
        options: Options | None = None,
    ) -> Producer:
        """A batching producer; leaving its with-block flushes and raises what was not delivered."""
        self._refuse_if_closed()
        return self._keep(
            Producer(
                self.connection,
                value_format_name=value_format,
                linger_ms=linger_ms,
                options=options,
                clock=self._clock,
            )
        )

    def consumer(  # noqa: PLR0913  what to read, in the reader's words
        self,
        *topics: str,
        group: str | None = None,
        start: str | int = "start",
        until: str | int | None = None,
        partitions: Sequence[int] | None = None,
        value_format: FormatName = "json",
        on_bad: OnBad = "raise",
        options: Options | None = None,
    ) -> Consumer:
        """Read topics, as a member of `group` or alone.

        `start` is where to begin (a group: only where it has no position yet), `until` where to
        stop. Both are positions as in rpk: "start" ("earliest"), "end" ("latest"), 47, "@-15m".
        `on_bad` says what happens to a value that is not in `value_format`: "raise" (the position
        stays before it), "skip", or a function of (record, error) after which reading goes on.
        """
        self._refuse_if_closed()
        _refuse_unclear(topics, group, partitions)
        reading = Reading(
            topics=topics,
            group=group,
            offsets=self._range(str(start), until),
            partitions=None if partitions is None else tuple(partitions),
            value_format=value_format,
            on_bad=on_bad,
        )
        return self._keep(
            Consumer(
                self.connection,
                reading,
                self._log,
                self.admin.groups,
                options=options,
                clock=self._clock,
            )
        )

    def view(self, name: str) -> "ServedView":
        """A served view: get, rows, query, subscribe.

        revenue = client.view("shop.revenue")
        revenue.get(minute="2026-09-01T10:00Z", customer=7)
        """
        return self.views.view(name)

    @cached_property
    def views(self) -> "Views":
        """All served views, and SQL over them."""
        from headwater.client.view import Views  # noqa: PLC0415  HTTP is loaded by those who use it
        from headwater.client.view_address import find_view_address  # noqa: PLC0415

        return Views(find_view_address(self._views_address), timeout_s=self.connection.timeout_s)

    def close(self) -> None:
        """Flush producers, leave groups; raises the first failure after everything is closed."""
        self.is_closed = True
        if "views" in vars(self):
            self.views.close()
        failures: list[HeadwaterError] = []
        opened, self._opened = self._opened, []
        for each in opened:
            try:
                each.close()
            except HeadwaterError as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except HeadwaterError as failure:
            if error is None:
                raise
            error.add_note(f"and while leaving: {failure}")

    @cached_property
    def _kafka(self) -> AdminClient:
        with translated("connect"):
            return AdminClient(self.connection.settings())

    @cached_property
    def _log(self) -> LogOffsets:
        return LogOffsets(self._kafka, self.connection.timeout_s, self._clock)

    @cached_property
    def _sender(self) -> Producer:
        """For `send`: it waits for every record, so waiting for company would only delay it."""
        self._refuse_if_closed()
        return self._keep(Producer(self.connection, linger_ms=0, clock=self._clock))

    def _refuse_if_closed(self) -> None:
        if self.is_closed:
            raise InvalidRequest(what="the client is closed", hint="connect again: hw.connect()")

    def _keep(self, opened: Opened) -> Opened:
        self._opened = [*(each for each in self._opened if not each.is_closed), opened]
        return opened

    def _range(self, start: str, until: str | int | None) -> OffsetRange:
        now = local_now(self._clock)
        offsets = parse_offset_range(start, now=now)
        if until is None:
            return offsets
        if offsets.until is not None:
            raise InvalidRequest(
                what=f"start={start!r} is a range, and until={until!r} is given as well",
                hint="give one of them",
            )
        return OffsetRange(offsets.start, parse_position(str(until), now=now))


def _refuse_unclear(
    topics: tuple[str, ...], group: str | None, partitions: Sequence[int] | None
) -> None:
    if not topics:
        raise InvalidRequest(what="a consumer needs a topic", hint="name a topic")
    for topic in topics:
        if not isinstance(topic, str):
            raise InvalidRequest(
                what=f"{topic!r} is not the name of a topic",
                hint='name topics one by one, as in consumer("orders", "payments")',
            )
    if group == "":
        raise InvalidRequest(
            what="the name of a group is empty", hint="leave out group= to read alone"
        )
    if group is not None and partitions is not None:
        raise InvalidRequest(
            what="a group shares out the partitions", hint="leave out group= to choose partitions"
        )
    if partitions is not None and not partitions:
        raise InvalidRequest(
            what="partitions is empty, so there would be nothing to read",
            hint="leave it out to read all of them",
        )
