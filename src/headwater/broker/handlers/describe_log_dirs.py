"""DescribeLogDirs: one directory, its free space, and the size of each partition."""

import shutil

from headwater.broker.context import RequestContext
from headwater.broker.topics import Topic
from headwater.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)


def describe_log_dirs(
    request: DescribeLogDirsRequest, context: RequestContext
) -> DescribeLogDirsResponse:
    broker = context.broker
    space = shutil.disk_usage(broker.directory)
    return DescribeLogDirsResponse(
        results=[
            DescribeLogDirsResult(
                log_dir=str(broker.directory),
                topics=_topics(request, context),
                total_bytes=space.total,
                usable_bytes=space.free,
            )
        ]
    )


def _topics(request: DescribeLogDirsRequest, context: RequestContext) -> list[DescribeLogDirsTopic]:
    topics = context.broker.topics
    if request.topics is None:
        return [_topic(each, None) for each in topics]
    asked: dict[str, set[int]] = {}
    for each in request.topics:
        asked.setdefault(each.topic, set()).update(each.partitions)
    found = [(topics.get(name), indexes) for name, indexes in asked.items()]
    described = [_topic(topic, indexes) for topic, indexes in found if topic is not None]
    return [each for each in described if each.partitions]


def _topic(topic: Topic, indexes: set[int] | None) -> DescribeLogDirsTopic:
    return DescribeLogDirsTopic(
        name=topic.name,
        partitions=[
            DescribeLogDirsPartition(partition_index=each.index, partition_size=each.size_bytes)
            for each in topic.partitions
            if indexes is None or each.index in indexes
        ],
    )
