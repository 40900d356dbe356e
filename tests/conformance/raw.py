"""The protocol without a client: one request out, one response in, in plain Python values.

Messages come from kio's schemas, all APIs and versions. Milliseconds are ints both ways, structures
are dicts on the way out and namespaces on the way in; a field left out is zero, empty or false.
"""

import io
import itertools
import select
import socket
import struct
from collections import deque
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace, UnionType
from typing import Any, Final, Self, get_args, get_origin

from kio.index import load_entity_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

__all__ = ["Connection", "ErrorCode", "header"]

API_VERSIONS: Final = "api_versions"
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND: Final = timedelta(milliseconds=1)


class Connection:
    """One connection to a broker; responses are read in the order of the requests."""

    def __init__(self, bootstrap: str, timeout_s: float = 30) -> None:
        host, port = bootstrap.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), timeout=timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = self._socket.makefile("rb")
        self._correlation_ids = itertools.count(1)
        self._awaited: deque[tuple[int, str, int]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._stream.close()
        self._socket.close()

    def request(self, api: str, version: int, /, **message: Any) -> Any:
        """Send one request and return its response."""
        self.send(api, version, **message)
        return self.receive()

    def send(self, api: str, version: int, /, **message: Any) -> int:
        """Send without waiting; `receive` returns the responses in order."""
        correlation_id = next(self._correlation_ids)
        self.send_bytes(encode(api, version, correlation_id, message))
        self._awaited.append((correlation_id, api, version))
        return correlation_id

    def send_without_reply(self, api: str, version: int, /, **message: Any) -> None:
        """Send a request that is never answered (Produce with acks=0)."""
        self.send_bytes(encode(api, version, next(self._correlation_ids), message))

    def send_bytes(self, request: bytes) -> None:
        """Send these bytes as one frame, whatever they mean."""
        self._socket.sendall(struct.pack(">i", len(request)) + request)

    def send_unframed(self, data: bytes) -> None:
        self._socket.sendall(data)

    def receive(self) -> Any:
        expected, api, version = self._awaited.popleft()
        correlation_id, response = decode(api, version, self.receive_bytes())
        assert correlation_id == expected, "responses are out of order"
        return response

    def receive_bytes(self) -> bytes:
        (size,) = struct.unpack(">i", self._read(4))
        return self._read(size)

    def has_answer(self) -> bool:
        """Whether something has come that was not read yet."""
        return bool(select.select([self._socket], [], [], 0)[0])

    def is_closed_by_broker(self) -> bool:
        """Wait for the broker to close the connection; false if it sends something instead."""
        try:
            return self._stream.read(1) == b""
        except ConnectionResetError:
            return True

    def _read(self, size: int) -> bytes:
        data = self._stream.read(size)
        if len(data) < size:
            raise ConnectionError("the broker closed the connection")
        return data


def encode(api: str, version: int, correlation_id: int, message: dict[str, Any]) -> bytes:
    schema = load_entity_schema(api, version, EntityType.request)
    buffer = io.BytesIO()
    header_schema = schema.__header_schema__
    head = {
        "request_api_key": schema.__api_key__,
        "request_api_version": version,
        "correlation_id": correlation_id,
        "client_id": "conformance",
    }
    entity_writer(header_schema)(buffer, _build(header_schema, head))
    entity_writer(schema)(buffer, _build(schema, message))
    return buffer.getvalue()


def decode(api: str, version: int, data: bytes) -> tuple[int, Any]:
    schema = load_entity_schema(api, version, EntityType.response)
    # The header of ApiVersions is v0 in every version: its reader does not know the version yet.
    header_schema = (
        load_entity_schema("response_header", 0, EntityType.header)
        if api == API_VERSIONS
        else schema.__header_schema__
    )
    head, size = entity_reader(header_schema)(data, 0)
    body, body_size = entity_reader(schema)(data, size)
    assert size + body_size == len(data), "the response has bytes after its end"
    return head.correlation_id, _plain(body)


def header(api_key: int, version: int, correlation_id: int = 1) -> bytes:
    """A request header v1 (no tags), for requests that no schema would write."""
    return struct.pack(">hhih", api_key, version, correlation_id, -1)


def _build(schema: Any, values: dict[str, Any]) -> Any:
    known = {field.name for field in fields(schema)}
    if unknown := values.keys() - known:
        raise TypeError(f"{schema.__qualname__} v{schema.__version__} has no {sorted(unknown)}")
    return schema(
        **{
            field.name: _value(field, values[field.name]) if field.name in values else _zero(field)
            for field in fields(schema)
            if field.name in values or field.default is MISSING
        }
    )


def _value(field: Field[Any], value: Any) -> Any:
    if value is None:
        return None
    if field.metadata.get("kafka_type", "").startswith("timedelta"):
        return timedelta(milliseconds=value)
    inner = _without_none(field.type)
    if get_origin(inner) is tuple:
        inner = get_args(inner)[0]
        return tuple(_build(inner, item) if is_dataclass(inner) else item for item in value)
    return _build(inner, value) if is_dataclass(inner) else value


def _zero(field: Field[Any]) -> Any:
    if field.type is not _without_none(field.type):
        return None
    if get_origin(field.type) is tuple:
        return ()
    kafka_type = field.metadata["kafka_type"]
    if kafka_type.startswith("timedelta"):
        return timedelta()
    return {"string": "", "bytes": b"", "records": b""}.get(kafka_type, 0)


def _without_none(type_: Any) -> Any:
    if get_origin(type_) is UnionType:
        return next(part for part in get_args(type_) if part is not type(None))
    return type_


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if is_dataclass(value):
        return SimpleNamespace(
            **{
                field.name: _plain_field(field, getattr(value, field.name))
                for field in fields(value)
            }
        )
    return value


def _plain_field(field: Field[Any], value: Any) -> Any:
    match field.metadata.get("kafka_type"):
        case "datetime_i64":
            return -1 if value is None else (value - EPOCH) // MILLISECOND
        case "timedelta_i32" | "timedelta_i64":
            return value // MILLISECOND
    return _plain(value)
