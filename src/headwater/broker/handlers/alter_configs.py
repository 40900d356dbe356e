"""AlterConfigs (old): the given configs replace all others of the resource."""

from headwater.broker.config_changes import SET, ConfigChange, apply_changes
from headwater.broker.context import RequestContext
from headwater.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


async def alter_configs(
    request: AlterConfigsRequest, context: RequestContext
) -> AlterConfigsResponse:
    responses = []
    for each in request.resources:
        changes = [ConfigChange(change.name, SET, change.value) for change in each.configs]
        error, message = await apply_changes(
            context,
            (each.resource_type, each.resource_name),
            changes,
            only_validate=request.validate_only,
            replace_all=True,
        )
        responses.append(
            AlterConfigsResourceResponse(
                error_code=error,
                error_message=message,
                resource_type=each.resource_type,
                resource_name=each.resource_name,
            )
        )
    return AlterConfigsResponse(responses=responses)
