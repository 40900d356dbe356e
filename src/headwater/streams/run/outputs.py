"""Before a query starts: its topics exist, and readers know the view that it will fill."""

import contextlib
from dataclasses import replace

from headwater.client.client import Client
from headwater.errors import Conflict, NotFound
from headwater.streams.datasets import MaterializedView
from headwater.streams.run.definition import definition_of
from headwater.streams.run.plan import Planned
from headwater.views import DEFINITIONS_TOPIC, Step, encode_definition

_COMPACTED = {"cleanup.policy": "compact"}


def prepare(
    client: Client, planned: Planned, steps: tuple[Step, ...] = (), *, may_move: bool = False
) -> None:
    """Create what is missing, and publish the definition of a view.

    An output that has been written before is missing only if somebody deleted it; `may_move` says that the
    query goes on in another one.
    """
    output = planned.output
    if not may_move:
        _refuse_if_gone(client, planned)
    _create(client, output.topic, _COMPACTED if isinstance(output, MaterializedView) else {})
    if any(rule.action == "quarantine" for rule in output.expectations):
        _create(client, output.quarantine, {})
    if isinstance(output, MaterializedView):
        _create(client, DEFINITIONS_TOPIC, _COMPACTED, partitions=1)
        view = replace(definition_of(planned.pipeline, output, planned.schema), steps=steps)
        with client.producer(value_format="bytes") as producer:
            producer.send(DEFINITIONS_TOPIC, encode_definition(view), key=view.name)


def _refuse_if_gone(client: Client, planned: Planned) -> None:
    """A topic made anew would lack what was written before, and nobody would know."""
    topic = planned.output.topic
    if planned.checkpoint.has_run and topic not in client.admin.topics.names():
        raise NotFound(
            f"topic {topic!r}, which {planned.name!r} has filled, does not exist any more",
            hint=f"to fill it anew: headwater pipeline reset {planned.name}",
        )


def _create(
    client: Client, topic: str, configs: dict[str, str], partitions: int | None = None
) -> None:
    with contextlib.suppress(Conflict):
        client.admin.topics.create(topic, partitions=partitions, configs=configs)
