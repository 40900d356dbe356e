"""The number of a refresh of a view, and the one name under which all of them write.

A refresh that was cut off may have left rows behind in an open transaction, which would hide what comes
after it from readers, the next refresh among them. To take over the name ends it.
"""

from headwater.streams.log_access import LogAccess
from headwater.streams.run.plan import Planned
from headwater.streams.run.surroundings import Surroundings
from headwater.streams.sink.marker import Writer, read_marker
from headwater.streams.sink.transaction import Transactions


def query_id_of(planned: Planned) -> str:
    return f"{planned.name}.v{planned.output.version}"


def take_number(planned: Planned, where: Surroundings) -> int:
    """That of the next refresh: how many were written. Who still writes an earlier one cannot any more."""
    writer = Writer(query_id_of(planned), sink=planned.output.topic)
    log = LogAccess.of({"bootstrap.servers": where.bootstrap, **where.kafka_options})
    with Transactions(log, writer) as transactions:
        placed = read_marker(transactions.cluster, writer)
    return 0 if placed is None else placed.marker.next_batch
