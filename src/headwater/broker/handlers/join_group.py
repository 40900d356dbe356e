"""JoinGroup: become a member of the next generation of a group."""

from headwater.broker.context import RequestContext
from headwater.broker.groups.member import Client
from headwater.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

FIRST_VERSION_WITHOUT_PROTOCOL = 7
"""From here on an answer without a protocol says so with null; before, with an empty name."""


async def join_group(request: JoinGroupRequest, context: RequestContext) -> JoinGroupResponse:
    if context.version == 0:
        request.rebalance_timeout_ms = request.session_timeout_ms
    # Kafka shows a host as Java prints an address: with a slash.
    client = Client(context.client_id, f"/{context.client_host}", context.version)
    response: JoinGroupResponse = await context.broker.groups.join(request, client)
    if context.version < FIRST_VERSION_WITHOUT_PROTOCOL:
        response.protocol_name = response.protocol_name or ""
    elif response.error_code:
        response.protocol_name = None
    return response
