"""From a frame to a handler, and from its response to bytes."""

import struct
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Final

from headwater.broker.context import RequestContext
from headwater.broker.dispatch import APIS, Api
from headwater.broker.handlers.api_versions import unsupported_version
from headwater.errors import InvalidRequest
from headwater.wire.codec import decode, encode
from headwater.wire.decoder import skip_tags
from headwater.wire.encoder import Part
from headwater.wire.schema import Message

API_VERSIONS_KEY: Final = 18
LARGEST_JOINED_BYTES: Final = 64 << 10
_HEADER: Final = struct.Struct(">hhih")
_RESPONSE: Final = struct.Struct(">ii")


@dataclass(slots=True)
class Request:
    """One request, decoded."""

    api: Api
    version: int
    correlation_id: int
    client_id: str
    message: Message | None
    """None for an ApiVersions request of a version that we do not know."""

    @property
    def api_key(self) -> int:
        return self.api.request.api_key

    @property
    def name(self) -> str:
        return self.api.name

    def call(self, context: RequestContext) -> Message | Awaitable[Message | None] | None:
        if self.message is None:
            return unsupported_version(context)
        return self.api.handler(self.message, context)


def read_request(frame: memoryview) -> Request:
    """Decode one request; raises `InvalidRequest` for what no client should send."""
    try:
        api_key, version, correlation_id, client_id_size = _HEADER.unpack_from(frame)
    except struct.error as error:
        raise InvalidRequest("a request is shorter than its header") from error
    api = APIS.get(api_key)
    if api is None:
        raise InvalidRequest(f"unknown API key {api_key}")
    position = _HEADER.size + max(0, client_id_size)
    if position > len(frame):
        raise InvalidRequest("a client id runs over the end of its request")
    try:
        client_id = str(frame[_HEADER.size : position], "utf-8", "replace")
        if version not in api.request.versions:
            if api_key == API_VERSIONS_KEY:
                return Request(api, 0, correlation_id, client_id, None)
            raise InvalidRequest(f"version {version} of {api.name} is not supported")
        if api.request.is_flexible_in(version):
            position = skip_tags(frame, position)
    except (IndexError, ValueError) as error:
        raise InvalidRequest("malformed request header") from error
    message = decode(api.request, version, frame, position)
    return Request(api, version, correlation_id, client_id, message)


def encode_response(request: Request, message: Message) -> list[Part]:
    """Return the frame of a response; large record batches stay parts of their own."""
    body = encode(message, request.version)
    # ApiVersions is always answered with header version 0, so that a newer client can read it.
    is_flexible = message.is_flexible_in(request.version) and request.api_key != API_VERSIONS_KEY
    if is_flexible:
        body.insert(0, b"\0")
    size = 4 + sum(map(len, body))
    return _joined([_RESPONSE.pack(size, request.correlation_id), *body])


def _joined(parts: list[Part]) -> list[Part]:
    """Join small neighbours, so that a response is few writes; large ones are not copied."""
    out: list[Part] = []
    small: list[bytes | memoryview] = []
    for each in parts:
        if isinstance(each, (bytes, memoryview)) and len(each) < LARGEST_JOINED_BYTES:
            small.append(each)
            continue
        if small:
            out.append(b"".join(small))
            small = []
        out.append(each)
    if small:
        out.append(b"".join(small))
    return out
