"""Heartbeat: a member is alive; it learns whether it has to rejoin."""

from headwater.broker.context import RequestContext
from headwater.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def heartbeat(request: HeartbeatRequest, context: RequestContext) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=context.broker.groups.heartbeat(request))
