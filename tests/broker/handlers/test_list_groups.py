import asyncio

import pytest

from broker.groups.fake_broker import FakeBroker
from headwater.broker.groups.committing import Committer
from headwater.broker.groups.records import CommittedOffset, TopicPartition
from headwater.broker.handlers.list_groups import list_groups
from headwater.wire.messages.list_groups import ListedGroup, ListGroupsRequest


async def listed(request: ListGroupsRequest, version: int) -> dict[str, ListedGroup]:
    broker = FakeBroker()
    await broker.stable_member("stable")
    await broker.groups.offsets.commit(
        Committer("simple"), {TopicPartition("t", 0): CommittedOffset(1)}
    )
    response = await broker.call(list_groups, request, version)
    return {each.group_id: each for each in response.groups}


@pytest.mark.parametrize("version", range(6))
def test_groups_are_listed_in_every_version(version: int):
    found = asyncio.run(listed(ListGroupsRequest(), version))

    assert {name: each.protocol_type for name, each in found.items()} == {
        "stable": "consumer",
        "simple": "",
    }
    if version >= 4:
        assert {each.group_state for each in found.values()} == {"Stable", "Empty"}
    if version >= 5:
        assert {each.group_type for each in found.values()} == {"classic"}


@pytest.mark.parametrize(
    ("states", "types", "names"),
    [
        (["Stable"], [], {"stable"}),
        (["sTABLE", "empty"], [], {"stable", "simple"}),
        (["Dead"], [], set()),
        ([], ["Classic"], {"stable", "simple"}),
        ([], ["consumer"], set()),
        (["empty"], ["classic", "consumer"], {"simple"}),
    ],
)
def test_filters_ignore_case(states: list[str], types: list[str], names: set[str]):
    request = ListGroupsRequest(states_filter=states, types_filter=types)

    assert asyncio.run(listed(request, 5)).keys() == names
