"""ApiVersions: what this broker speaks, taken from the dispatch table."""

import re

from headwater.broker.context import RequestContext
from headwater.broker.transactions.transaction import BUMPS_EPOCHS
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

_SOFTWARE_NAME = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")

TRANSACTION_VERSION = "transaction.version"
"""The feature that tells clients to take a new epoch with each transaction."""
PRODUCE_KEY = 0
ADVERTISED_PRODUCE_MINIMUM = 0
"""librdkafka before 2.11 gives up gzip, snappy and lz4 unless Produce v0 is offered (KAFKA-18659)."""


def api_versions(request: ApiVersionsRequest, context: RequestContext) -> ApiVersionsResponse:
    names = (request.client_software_name, request.client_software_version)
    if context.version >= 3 and not all(_SOFTWARE_NAME.fullmatch(each) for each in names):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    return ApiVersionsResponse(
        api_keys=supported(context),
        supported_features=[
            SupportedFeatureKey(name=TRANSACTION_VERSION, min_version=0, max_version=BUMPS_EPOCHS)
        ],
        finalized_features_epoch=0,
        finalized_features=[
            FinalizedFeatureKey(
                name=TRANSACTION_VERSION,
                min_version_level=BUMPS_EPOCHS,
                max_version_level=BUMPS_EPOCHS,
            )
        ],
    )


def unsupported_version(context: RequestContext) -> ApiVersionsResponse:
    """Answer an ApiVersions request of a version from the future: in v0, with what we do speak."""
    return ApiVersionsResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=supported(context)
    )


def supported(context: RequestContext) -> list[ApiVersion]:
    return [
        ApiVersion(
            api_key=key,
            min_version=ADVERTISED_PRODUCE_MINIMUM if key == PRODUCE_KEY else versions.start,
            max_version=versions.stop - 1,
        )
        for key, versions in sorted(context.broker.api_versions.items())
    ]
