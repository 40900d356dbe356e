"""IncrementalAlterConfigs: set, delete, append to and subtract from single configs."""

from headwater.broker.config_changes import ConfigChange, apply_changes
from headwater.broker.context import RequestContext
from headwater.wire.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


async def incremental_alter_configs(
    request: IncrementalAlterConfigsRequest, context: RequestContext
) -> IncrementalAlterConfigsResponse:
    responses = []
    for each in request.resources:
        changes = [
            ConfigChange(change.name, change.config_operation, change.value)
            for change in each.configs
        ]
        error, message = await apply_changes(
            context,
            (each.resource_type, each.resource_name),
            changes,
            only_validate=request.validate_only,
        )
        responses.append(
            AlterConfigsResourceResponse(
                error_code=error,
                error_message=message,
                resource_type=each.resource_type,
                resource_name=each.resource_name,
            )
        )
    return IncrementalAlterConfigsResponse(responses=responses)
